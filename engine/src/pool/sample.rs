//! For tests: a server.

use super::{Server, Status};

/// One that is ready.
pub(crate) fn server(id: &str, name: &str) -> Server {
    Server {
        id: id.to_owned(),
        name: name.to_owned(),
        zone: "z".to_owned(),
        model: "M2-L".to_owned(),
        os_family: "Tahoe".to_owned(),
        addresses: Vec::new(),
        status: Status::Ready,
        provider_id: format!("lab://z/{id}"),
        created_at: None,
        updated_at: None,
        deletable_at: None,
        commitment: None,
    }
}
