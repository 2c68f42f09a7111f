//! A lab in another process.

use std::io;
use std::path::Path;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::clock::Pace;
use crate::control::{CatalogueEdit, Move, ServerEdit};
use crate::disk;
use crate::fault::Fault;
use crate::lab::Description;

/// A lab that runs somewhere on this machine, by its directory.
#[derive(Clone, Debug)]
pub struct Remote {
    description: Description,
    client: reqwest::Client,
}

/// Why a lab in another process did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub enum RemoteError {
    /// There is no lab in the directory.
    #[error("no lab runs in {directory}")]
    NoLab {
        /// Where it was looked for.
        directory: String,
        /// What was wrong with its description.
        source: io::Error,
    },
    /// It does not answer.
    #[error("the lab at {address} does not answer")]
    NoAnswer {
        /// Where it should be.
        address: String,
        /// Why it was not reached.
        source: reqwest::Error,
    },
    /// It refused.
    #[error("the lab refused: {0}")]
    Refused(String),
}

impl Remote {
    /// Finds the lab of a directory. Whether it still runs is known when it is asked something.
    ///
    /// # Errors
    ///
    /// If no lab described itself there.
    pub fn open(directory: &Path) -> Result<Remote, RemoteError> {
        let description: io::Result<Description> = disk::read_json(&Description::path(directory));
        let description = description
            .map_err(|source| RemoteError::NoLab { directory: directory.display().to_string(), source })?;
        // A lab is on this machine, whatever leads out of it.
        let client = reqwest::Client::builder().no_proxy().build();
        let client = client
            .map_err(|source| RemoteError::NoAnswer { address: description.control_url.clone(), source })?;
        Ok(Remote { description, client })
    }

    /// How to reach it.
    #[must_use]
    pub fn description(&self) -> &Description {
        &self.description
    }

    /// What there is, in short.
    ///
    /// # Errors
    ///
    /// If the lab does not answer.
    pub async fn summary(&self) -> Result<Value, RemoteError> {
        self.get("").await
    }

    /// Everything there is: `world`, `servers`, `servers/NAME`, `requests`, `requests?after=N`, `faults`, `clock`, `rules`
    /// or `catalogue`.
    ///
    /// # Errors
    ///
    /// If the lab does not answer, or has no such thing.
    pub async fn inspect(&self, what: &str) -> Result<Value, RemoteError> {
        self.get(&format!("/{what}")).await
    }

    /// Lets something go wrong; the number of the fault.
    ///
    /// # Errors
    ///
    /// If the lab does not answer.
    pub async fn fault(&self, fault: &Fault) -> Result<u64, RemoteError> {
        let set: Value = self.send(reqwest::Method::POST, "/faults", Some(fault)).await?;
        Ok(set["id"].as_u64().unwrap_or_default())
    }

    /// Takes one fault back, or all.
    ///
    /// # Errors
    ///
    /// If the lab does not answer, or there is no such fault.
    pub async fn clear(&self, fault: Option<u64>) -> Result<(), RemoteError> {
        let path = fault.map_or_else(|| "/faults".to_owned(), |id| format!("/faults/{id}"));
        self.send::<Value>(reqwest::Method::DELETE, &path, None::<&()>).await.map(drop)
    }

    /// Moves the clock; the time and the pace afterwards.
    ///
    /// # Errors
    ///
    /// If the lab does not answer, or time would stand still or go back.
    pub async fn clock(&self, change: Move) -> Result<(String, Pace), RemoteError> {
        #[derive(serde::Deserialize)]
        struct Shown {
            time: String,
            pace: Pace,
        }
        let shown: Shown = self.send(reqwest::Method::POST, "/clock", Some(&change)).await?;
        Ok((shown.time, shown.pace))
    }

    /// Changes a server behind the API's back, by its id or its name.
    ///
    /// # Errors
    ///
    /// If the lab does not answer, or there is no such server.
    pub async fn edit_server(&self, server: &str, edit: &ServerEdit) -> Result<Value, RemoteError> {
        self.send(reqwest::Method::PATCH, &format!("/servers/{server}"), Some(edit)).await
    }

    /// Changes what can be ordered and installed.
    ///
    /// # Errors
    ///
    /// If the lab does not answer, or what is changed is not there.
    pub async fn edit_catalogue(&self, edit: &CatalogueEdit) -> Result<Value, RemoteError> {
        self.send(reqwest::Method::PATCH, "/catalogue", Some(edit)).await
    }

    /// Asks the lab to stop. It ends soon after.
    ///
    /// # Errors
    ///
    /// If the lab does not answer.
    pub async fn stop(&self) -> Result<(), RemoteError> {
        self.send::<Value>(reqwest::Method::POST, "/stop", None::<&()>).await.map(drop)
    }

    async fn get(&self, path: &str) -> Result<Value, RemoteError> {
        self.send(reqwest::Method::GET, path, None::<&()>).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: reqwest::Method,
        path: &str,
        body: Option<&(impl Serialize + ?Sized)>,
    ) -> Result<T, RemoteError> {
        let address = format!("{}/lab{path}", self.description.control_url);
        let lost = |source| RemoteError::NoAnswer { address: address.clone(), source };
        let mut request = self.client.request(method, &address);
        if let Some(body) = body {
            request = request.json(body);
        }
        let response = request.send().await.map_err(lost)?;
        if response.status().is_success() {
            return response.json().await.map_err(lost);
        }
        let text = response.text().await.map_err(lost)?;
        let told = serde_json::from_str::<Value>(&text).ok();
        let told = told.and_then(|told| Some(told["error"].as_str()?.to_owned()));
        Err(RemoteError::Refused(told.unwrap_or(text)))
    }
}
