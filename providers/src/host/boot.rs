//! Which boot a host is in: a name that every start of the system makes anew.

use fleet_engine::attributes::Misfit;
use fleet_engine::host::probe::What;
use fleet_engine::host::{Content, Operand, Probe, Reply, Tool};
use fleet_engine::resource::Error;

/// Where Linux says it.
const LINUX: &str = "/proc/sys/kernel/random/boot_id";

/// What macOS calls it.
const MACOS: &str = "kern.bootsessionuuid";

/// How many operations [`ask`] adds.
pub(super) const N_READS: usize = 2;

/// Asks for the boot, where Linux and where macOS say it.
pub(super) fn ask(probe: Probe) -> Result<Probe, Misfit> {
    Ok(probe.content(LINUX, Content::Whole).tool(Tool::Sysctl, [Operand::new(MACOS)?]))
}

/// The answer, given the index of the first of its operations; none on a system that does not say. It is as the host has
/// it, because that compares it before it starts anew.
pub(super) fn read(reply: &Reply, index: usize) -> Result<Option<String>, Error> {
    let linux = reply.path(index)?.and_then(|found| match &found.what {
        What::File(file) => file.content.as_deref().and_then(name),
        _ => None,
    });
    let output = reply.output(index + 1)?;
    let macos = || (output.status == 0).then(|| name(&output.stdout)).flatten();
    Ok(linux.or_else(macos))
}

fn name(text: &[u8]) -> Option<String> {
    let name = std::str::from_utf8(text).ok()?.trim();
    (!name.is_empty()).then(|| name.to_owned())
}
