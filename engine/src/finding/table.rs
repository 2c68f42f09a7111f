//! All known bad states. The page of them, `docs/findings.md`, is made from this.

use super::{Cure, Known};

/// Names each state once, for kinds and for the list of all.
macro_rules! table {
    ($($(#[$doc:meta])* $id:ident = $known:expr;)*) => {
        $($(#[$doc])* pub static $id: Known = $known;)*

        /// Every known bad state, in the order of the page.
        pub static ALL: &[&Known] = &[$(&$id),*];
    };
}

table! {
    /// Nobody answers on the port of SSH.
    SILENT_SSH_PORT = Known {
        name: "silent-ssh-port",
        seen: "Connecting to the port of SSH takes too long, or sshd does not say its first word.",
        why: "Scanners have filled the backlog of port 22 with half-open connections. launchd owns that port, so that all addresses \
              of the host go silent at once, those in a tailnet too. Or the host is off, or a firewall or a missing tunnel is in \
              the way: from outside it looks the same.",
        cure: Cure::Person(
            "start the host anew by its vendor or its power; the module `ssh-reachability` clears the backlog by itself from then on",
        ),
    };

    /// The host does not let us in.
    REFUSED_LOGIN = Known {
        name: "refused-login",
        seen: "sshd answers, and refuses the user or the key.",
        why: "The key of the connection expired, was exchanged or was never authorized, or the user is another one.",
        cure: Cure::Person("authorize the public part of the key for that user on the host, or correct `user` and `identity`"),
    };

    /// The host shows another key than before.
    CHANGED_HOST_KEY = Known {
        name: "changed-host-key",
        seen: "The host proves who it is by another key than the one that is pinned.",
        why: "It was installed anew behind our back, or somebody else answers at its address.",
        cure: Cure::Person("compare the fingerprint with what the host shows itself, then accept the new key as it is said there"),
    };

    /// Another state holds the host.
    FOREIGN_LEDGER = Known {
        name: "foreign-ledger",
        seen: "The ledger on the host names another holder than this slot of this state.",
        why: "Another configuration or a copy of this one with another state has taken the host, or the state that took it was lost.",
        cure: Cure::Person("let its holder give it back, take the host out of this pool, or rebuild the lost state by `fleet state rebuild`"),
    };

    /// Nobody becomes root without a password.
    ROOT_NEEDS_PASSWORD = Known {
        name: "root-needs-password",
        seen: "`sudo -n` is refused, so that what root alone can see cannot be seen.",
        why: "The rule of `sudo` that lets the user become root without a password was never made, was removed, or is broken: \
              `sudo` ignores a file whose owner or mode is wrong.",
        cure: Cure::By(
            "macos_sudoers",
            "the rule is made, with the `sudo_password` of the connection; without that, somebody adds it by `visudo`",
        ),
    };

    /// A credential is not taken any more.
    EXPIRED_CREDENTIAL = Known {
        name: "expired-credential",
        seen: "An API answers that it does not know the key, or a tailnet that a key for joining or of a device has expired, or will soon.",
        why: "Keys live for 90 days at most, or were revoked, while whoever hands them out goes on to report that all is well.",
        cure: Cure::Person(
            "make a new key and put it where it is taken from; a key that is a resource is made anew by apply once it has ended, \
             and before that with `--replace`",
        ),
    };

    /// A device is not in the tailnet.
    OUT_OF_TAILNET = Known {
        name: "out-of-tailnet",
        seen: "`tailscaled` runs, and `tailscale status` says another state than `Running`.",
        why: "Somebody logged it out or removed it in the console, stopped it, or its own key expired.",
        cure: Cure::Apply("it joins again, by its key if the tailnet does not know it any more"),
    };

    /// A device has a number at the end of its name.
    TAILNET_NAME_TAKEN = Known {
        name: "tailnet-name-taken",
        seen: "The tailnet calls the device by its name with a number at the end.",
        why: "Another device had the name when it joined: most often an earlier installation of the same machine, which nobody removed.",
        cure: Cure::Apply("the device takes its name once the other one is gone; `tailscale_name` removes one that is left over"),
    };

    /// macOS sealed the password of the automatic login.
    SEALED_PASSWORD = Known {
        name: "sealed-password",
        seen: "`/etc/kcpassword` holds `<sealed>` in the place of a password.",
        why: "macOS tried a wrong password at an automatic login. It says nothing, logs nobody in and never tries again, so that no VM starts.",
        cure: Cure::Apply("the password is written again, and loginwindow is started anew"),
    };

    /// loginwindow is not there.
    LOGINWINDOW_GONE = Known {
        name: "loginwindow-gone",
        seen: "launchd says of `com.apple.loginwindow` that it is not running.",
        why: "Somebody hung up on it (`killall -HUP loginwindow`), as runbooks of old say. launchd does not start it again by itself.",
        cure: Cure::Apply("loginwindow is started by `launchctl kickstart`"),
    };

    /// Nobody is logged in at the screen.
    NO_AQUA_SESSION = Known {
        name: "no-aqua-session",
        seen: "launchd has no domain `gui/UID`, or it has no session of type Aqua.",
        why: "A Mac without a screen logs nobody in by itself at a boot, also where automatic login is set. VMs, runners and agents \
              need such a session.",
        cure: Cure::By("macos_auto_login", "its user is logged in; without one, somebody has to do that at the screen"),
    };

    /// Tables of the packet filter are in the way.
    BUSY_PF_TABLES = Known {
        name: "busy-pf-tables",
        seen: "Tables of the anchor's names persist in the anchor, or lie in the main ruleset.",
        why: "An earlier script defined them with `persist`. They outlive every flush, and whoever defines them again is told `Resource busy`.",
        cure: Cure::Apply("they are killed in the anchor and in the main ruleset before the anchor is loaded"),
    };

    /// `/etc/pf.conf` calls an anchor twice, or in an older form.
    DUPLICATED_PF_BLOCK = Known {
        name: "duplicated-pf-block",
        seen: "`/etc/pf.conf` calls the anchor more than once, or in a form without markers.",
        why: "Every release wrote its block in a form of its own and did not know the older ones. The kernel refuses the whole file \
              then, and keeps whichever ruleset it had.",
        cure: Cure::Apply("every form of the block goes, and one comes back"),
    };

    /// The anchor is loaded, and nothing consults it.
    PF_ANCHOR_NOT_CALLED = Known {
        name: "pf-anchor-not-called",
        seen: "The main ruleset in force does not call the anchor, whatever rules are in it.",
        why: "The anchor was loaded alone, or macOS put its own main ruleset in the place of ours. Nothing is filtered, and \
              everything that looks at the anchor alone says that all is well.",
        cure: Cure::Apply("the main ruleset in force is made to call it, beside all that is there"),
    };

    /// The anchor is empty.
    PF_ANCHOR_FLUSHED = Known {
        name: "pf-anchor-flushed",
        seen: "The anchor has no rules in force, or others than those that were loaded.",
        why: "Somebody flushed it, or macOS did when the network of VMs came and went.",
        cure: Cure::Apply("its rules are brought into force again"),
    };

    /// The packet filter is off.
    PF_OFF = Known {
        name: "pf-off",
        seen: "The packet filter is off, or nobody holds our token for it.",
        why: "Somebody switched it off (`pfctl -d`), or gave back a token that was not his.",
        cure: Cure::Apply("it is switched on by a token of its own"),
    };

    /// The kernel kills a service for its code signature.
    CODESIGN_KILLED = Known {
        name: "codesign-killed",
        seen: "launchd says of the service: last exit reason = OS_REASON_CODESIGNING.",
        why: "Its program was overwritten in place, and the kernel remembers the signature by the inode; or it has no signature.",
        cure: Cure::Apply("`macos_signed_binary` puts a new signed file in its place, and the service is started anew"),
    };

    /// A program has no sound signature.
    UNSOUND_SIGNATURE = Known {
        name: "unsound-signature",
        seen: "`codesign -v` refuses the program.",
        why: "It was built, copied or changed without being signed afterwards.",
        cure: Cure::Apply("it is sent again, signed and renamed into its place"),
    };

    /// A service ends over and over.
    CRASH_LOOP = Known {
        name: "crash-loop",
        seen: "launchd counts successive crashes of the service, and what it started last is gone or younger than `soak`.",
        why: "The program ends right after each start. It has a process for a moment every ten seconds, which counts as running for \
              whoever looks just then.",
        cure: Cure::Apply("it is started anew with the program that is declared; apply fails if that ends, too"),
    };

    /// macOS does not keep a daemon alive any more.
    BACKGROUND_TASK_CAP = Known {
        name: "background-task-cap",
        seen: "The service does not run, and `KeepAlive` did not bring it back.",
        why: "It was registered too often: after some ten times macOS stops to keep such a daemon alive, and says so nowhere.",
        cure: Cure::Apply("it is started by `launchctl kickstart -k`, which registers nothing"),
    };

    /// A service is disabled.
    SERVICE_DISABLED = Known {
        name: "service-disabled",
        seen: "`launchctl print-disabled` names the service.",
        why: "Somebody disabled it. launchd refuses to load it from then on, with an error that names no reason.",
        cure: Cure::Apply("it is enabled and loaded"),
    };

    /// launchd does not know a service.
    SERVICE_NOT_LOADED = Known {
        name: "service-not-loaded",
        seen: "The property list is there, and launchd does not know the service.",
        why: "It was taken out and put back in one breath, and the second was refused while the first was still under way.",
        cure: Cure::Apply("it is loaded, once nothing of it is left"),
    };

    /// A property list cannot be loaded.
    BROKEN_PROPERTY_LIST = Known {
        name: "broken-property-list",
        seen: "The property list of the service is gone, cannot be parsed, or has an owner or a mode that launchd refuses.",
        why: "It was written by hand or by a template that escapes nothing (a bare `&`), or somebody removed it.",
        cure: Cure::Apply("it is written again, escaped and owned as launchd wants it, and loaded"),
    };

    /// What is loaded is not what is declared.
    EDITED_PROPERTY_LIST = Known {
        name: "edited-property-list",
        seen: "The property list has keys of somebody else, or is not the one that fleet writes for the service; or launchd has \
               another one loaded than the one on the disk.",
        why: "Somebody edited it by hand and loaded it, and perhaps put the file back.",
        cure: Cure::Apply("it is written again and loaded anew"),
    };

    /// Others than the tailnet can read what a service tells.
    PUBLIC_LISTENER = Known {
        name: "public-listener",
        seen: "`lsof` shows that a service which is for the tailnet alone listens at another address, or at every one.",
        why: "It was started without an address, or before the host had one in its tailnet. Whoever reaches the host reads what \
              the service tells.",
        cure: Cure::Apply("it is started anew by its wrapper, which lets it listen at the address in the tailnet and nowhere else"),
    };

    /// A service cannot be started.
    SERVICE_CANNOT_START = Known {
        name: "service-cannot-start",
        seen: "launchd says of the service: last exit code = 78 (EX_CONFIG).",
        why: "The program, its directory, that of its state or that of its logs is missing; `/usr/local/bin` does not exist on a \
              fresh image.",
        cure: Cure::Apply("what is declared of it is made, and it is started anew"),
    };

    /// A service that ends by itself ended badly.
    SERVICE_FAILED = Known {
        name: "service-failed",
        seen: "A service that is not kept alive ended with another code than 0 when it ran last.",
        why: "Whatever it does went wrong; its log says what.",
        cure: Cure::Apply("it is run again; apply fails if it fails again"),
    };

    /// An older program runs than the one that is installed.
    STALE_PROCESS = Known {
        name: "stale-process",
        seen: "The process has another code signature than its program on the disk.",
        why: "The program was replaced, and nobody restarted the service: `launchctl kickstart` without `-k` does nothing to what runs.",
        cure: Cure::Apply("the service is started anew by `launchctl kickstart -k`"),
    };

    /// A service runs and does not answer.
    UNHEALTHY_SERVICE = Known {
        name: "unhealthy-service",
        seen: "The service runs, and its health URL does not answer well, or nobody listens at its port.",
        why: "It hangs, waits for something, or does not listen where it should.",
        cure: Cure::Apply("it is started anew; apply fails if it still does not answer"),
    };

    /// A runner is not registered.
    RUNNER_UNREGISTERED = Known {
        name: "runner-unregistered",
        seen: "`.runner` or `.credentials` of the agent are missing, or were left by somebody else.",
        why: "An earlier life of the Mac left them, or a registration was removed before the next one was there.",
        cure: Cure::Apply("what is there is set aside and the agent is registered anew, which takes a fresh token"),
    };

    /// The agent of a runner does not run.
    RUNNER_OFFLINE = Known {
        name: "runner-offline",
        seen: "The LaunchAgent of the runner is not installed, not loaded in the session at the screen, or does not run.",
        why: "It was loaded over SSH the old way (`launchctl load`), which says `failed to load`; or nobody is logged in at the screen.",
        cure: Cure::Apply("it is loaded by `launchctl bootstrap gui/UID`"),
    };

    /// A VLAN has no address.
    VLAN_WITHOUT_ADDRESS = Known {
        name: "vlan-without-address",
        seen: "The VLAN is there and asks for an address by DHCP, and `networksetup -getinfo` shows none.",
        why: "Its lease ran out, and the network did not answer when the Mac asked for another.",
        cure: Cure::Apply("it is told once more to ask for one, and the apply waits until it has it"),
    };

    /// Tart is called in a way that runs no VM.
    TART_WRAPPER = Known {
        name: "tart-wrapper",
        seen: "`/usr/local/bin/tart` is a link, another file, or not there.",
        why: "A link was made to the program in the bundle. What is started through one has no signature of a bundle, and runs no VM.",
        cure: Cure::Apply("the wrapper is written in its place"),
    };

    /// Tart cannot be started.
    TART_CANNOT_START = Known {
        name: "tart-cannot-start",
        seen: "`tart --version` fails.",
        why: "Its bundle is broken, incomplete or not signed.",
        cure: Cure::Apply("the bundle is replaced, once no VM runs"),
    };

    /// There is no Xcode.
    XCODE_MISSING = Known {
        name: "xcode-missing",
        seen: "There is no Xcode at the path that is declared.",
        why: "The Mac was ordered or installed with an image without Xcode. Apple gives it only to people.",
        cure: Cure::Person("install the Mac anew with the `macOS + Xcode` image of the vendor, or install Xcode by hand"),
    };

    /// Something takes effect at the next start.
    REBOOT_PENDING = Known {
        name: "reboot-pending",
        seen: "A preference that macOS reads only when it starts was changed after it had started.",
        why: "It was written, and nobody started the Mac anew: what is on the disk is not what is in effect.",
        cure: Cure::By("host_reboot", "the host is started anew, if its `when` is the `reboot_required` of this"),
    };

    /// A Node is there, and not ready.
    NODE_NOT_READY = Known {
        name: "node-not-ready",
        seen: "The condition `Ready` of a Node is not true, or its agent was not heard of for longer than `stale_after`.",
        why: "The agent on the Mac does not run, has lost its authority or its way to the cluster, or says itself that it cannot take Pods.",
        cure: Cure::Person("look at the log of the agent on the Mac; `fleet doctor` tells what is wrong there"),
    };

    /// Pods that nobody lets go.
    PODS_HELD = Known {
        name: "pods-held-by-a-lost-agent",
        seen: "Pods are being deleted for long, a finalizer holds them, and their Node is gone or not ready.",
        why: "The agent on the Mac sets the finalizer and takes it away once their VMs are cleaned up. The Mac is gone, and with it \
              whoever would.",
        cure: Cure::Apply("that finalizer is taken off those pods"),
    };
}
