//! How a world begins, and how it ends.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, mpsc};
use std::time::Duration;

use ssh_key::private::Ed25519Keypair;
use ssh_key::{LineEnding, PrivateKey};
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{Notify, oneshot};

use crate::clock::{Clock, Pace, Time};
use crate::control::{self, Control};
use crate::disk;
use crate::fault::Faults;
use crate::gate::Gate;
use crate::kubernetes::Cluster;
use crate::lab::{Description, Error, Options, at};
use crate::log::Log;
use crate::scaleway::{Permissions, Preorder, Scaleway, Token};
use crate::serve::serve;
use crate::vendors::Vendors;
use crate::world::{State, World};

/// Servers that are there when a world begins were ordered so long before.
const AGE: Duration = Duration::from_secs(30 * 24 * 3600);

/// What is there once a lab runs.
pub(crate) struct Started {
    pub(crate) world: Arc<World>,
    pub(crate) cluster: Cluster,
    pub(crate) description: Description,
    pub(crate) runtime: Handle,
    /// Somebody asked it to stop.
    pub(crate) stop: Arc<Notify>,
    /// The other vendors.
    pub(crate) vendors: Vendors,
    /// Where every request comes through.
    pub(crate) gate: Gate,
}

/// The whole life of a lab, on a thread of its own.
pub(crate) fn live(
    options: &Options,
    directory: &Path,
    started: &mpsc::SyncSender<Result<Started, Error>>,
    ended: oneshot::Receiver<()>,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("fleet-lab")
        .enable_all()
        .build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(source) => {
            let _ = started.send(Err(at(directory, source)));
            return;
        }
    };
    runtime.block_on(async {
        let begun = begin(options, directory).await;
        let world = begun.as_ref().ok().map(|begun| Arc::clone(&begun.world));
        // If nobody waits for it any more, `ended` says so as well.
        let _ = started.send(begun);
        let Some(world) = world else { return };
        // Ends when the sender is dropped.
        let _ = ended.await;
        world.halt_all().await;
        world.save();
        // Whoever looks for a lab that ended finds none.
        let _ = std::fs::remove_file(Description::path(directory));
    });
    runtime.shutdown_timeout(Duration::from_secs(5));
}

async fn begin(options: &Options, directory: &Path) -> Result<Started, Error> {
    let failed = |source| at(directory, source);
    let resumed = disk::has_world(directory);
    let identity = directory.join("identity");
    let (state, clock) = if resumed {
        let loaded = disk::load(directory).map_err(failed)?;
        let pace = if options.pace == Pace::Manual { loaded.pace } else { options.pace };
        (loaded.state, Clock::new(pace, loaded.time))
    } else {
        let public = make_identity(&identity).map_err(failed)?;
        let time = options.start.unwrap_or_else(Time::of_this_machine);
        (first_state(options, &public, time)?, Clock::new(options.pace, time))
    };
    let durable = options.directory.is_some();
    let world = World::new(state, clock, directory.to_owned(), durable, Arc::clone(&options.factory));
    world.build_all(!resumed).await;
    let gate = Gate::default();
    let cluster = Cluster::begin(world.clock.clone(), gate.clone(), options.seed, directory, durable)
        .await
        .map_err(failed)?;
    if let Some(kubelets) = options.factory.kubelets() {
        cluster.keep_nodes_of(kubelets);
    }
    let api = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let control = TcpListener::bind("127.0.0.1:0").await.map_err(failed)?;
    let vendors = Vendors::open(&*options.factory, &world.clock, &gate).await.map_err(failed)?;
    let url = |listener: &TcpListener| Ok(format!("http://{}", listener.local_addr()?));
    let description = Description {
        pid: std::process::id(),
        api_url: url(&api).map_err(failed)?,
        control_url: url(&control).map_err(failed)?,
        directory: directory.to_owned(),
        ssh_config: directory.join("ssh_config"),
        identity,
        kubernetes_url: cluster.url().to_owned(),
        kubeconfig: Cluster::kubeconfig_in(directory),
        environment: BTreeMap::new(),
    };
    let mut environment = environment(&world, &description);
    environment.extend(vendors.environment());
    let description = Description { environment, ..description };
    disk::replace_json(&Description::path(directory), &description).map_err(failed)?;
    let stop = Arc::new(Notify::new());
    let router = control::router(Control { world: Arc::clone(&world), stop: Arc::clone(&stop) });
    tokio::spawn(serve(api, gate.clone(), Arc::clone(&world)));
    tokio::spawn(async move { axum::serve(control, router).await });
    let driven = world.clock.clone();
    tokio::spawn(async move { driven.drive().await });
    Ok(Started { world, cluster, vendors, gate, description, runtime: Handle::current(), stop })
}

/// A vendor with Macs that are free, and a key that they accept.
fn first_state(options: &Options, public: &str, now: Time) -> Result<State, Error> {
    let mut scaleway = Scaleway::new(options.seed, options.rules.clone());
    let project = scaleway.id();
    let ordered = now.before(AGE);
    let mut keys = options.keys.clone();
    keys.insert("lab".to_owned(), public.to_owned());
    for (name, key) in &keys {
        if !scaleway.preregister(name, key, &project, ordered) {
            return Err(Error::Options(format!("the key `{name}` is no public key of a known type")));
        }
    }
    let os = scaleway.catalogue.os.iter().find(|os| os.name == options.os).cloned();
    let os = os.ok_or_else(|| Error::Options(format!("the catalogue has no system `{}`", options.os)))?;
    for number in 1..=options.macs {
        scaleway.preorder(&Preorder {
            name: &format!("{}{number:02}", options.prefix),
            model: &options.model,
            zone: &options.zone,
            project_id: &project,
            os: &os,
            created_at: ordered,
        });
    }
    // Somebody asked the vendor for more than the usual.
    let macs = u32::try_from(options.macs).unwrap_or(u32::MAX);
    if let Some(quota) = scaleway.rules.quotas.get_mut(&options.model) {
        *quota = (*quota).max(macs.saturating_add(5));
    }
    let token = token(&mut scaleway, "LAB", Some(project));
    scaleway.tokens.push(token);
    Ok(State {
        seed: options.seed,
        scaleway,
        faults: Faults::default(),
        log: Log::default(),
        troubles: Vec::new(),
    })
}

pub(crate) fn token(scaleway: &mut Scaleway, name: &str, project_id: Option<String>) -> Token {
    Token {
        id: format!("SCW{name}"),
        secret: scaleway.id(),
        project_id,
        servers: Permissions::Full,
        ssh_keys: Permissions::Full,
        expires_at: None,
    }
}

fn environment(world: &World, description: &Description) -> BTreeMap<String, String> {
    let state = world.state();
    let mut environment = BTreeMap::from([
        ("KUBECONFIG".to_owned(), description.kubeconfig.display().to_string()),
        ("SCW_API_URL".to_owned(), description.api_url.clone()),
        ("SCW_DEFAULT_ORGANIZATION_ID".to_owned(), state.scaleway.organization_id.clone()),
    ]);
    if let Some(token) = state.scaleway.tokens.first() {
        environment.insert("SCW_ACCESS_KEY".to_owned(), token.id.clone());
        environment.insert("SCW_SECRET_KEY".to_owned(), token.secret.clone());
        let project = token.project_id.clone().unwrap_or_default();
        environment.insert("SCW_DEFAULT_PROJECT_ID".to_owned(), project);
    }
    if let Some(server) = state.scaleway.servers.every().next() {
        environment.insert("SCW_DEFAULT_ZONE".to_owned(), server.zone.clone());
    }
    environment
}

/// Makes a key pair; its public half.
fn make_identity(path: &Path) -> io::Result<String> {
    let mut seed = [0; 32];
    getrandom::fill(&mut seed).map_err(io::Error::other)?;
    let key = PrivateKey::from(Ed25519Keypair::from_seed(&seed));
    let private = key.to_openssh(LineEnding::LF).map_err(io::Error::other)?;
    let public = key.public_key().to_openssh().map_err(io::Error::other)?;
    disk::replace(path, private.as_bytes())?;
    disk::replace(&path.with_extension("pub"), format!("{public}\n").as_bytes())?;
    Ok(public)
}
