//! What simulated commands say, and what they refuse as the real ones do.

use super::world::World;

/// A script, its status, what it prints, and something of what it complains about.
type Case = (&'static str, i32, &'static str, &'static str);

async fn check(world: &World, mac: &fleet_lab::mac::Mac, cases: &[Case]) {
    for (script, status, out, err) in cases {
        let ran = world.run(mac, script).await;
        assert_eq!((ran.status, &*ran.out), (Some(*status), *out), "{script}: {}", ran.err);
        assert!(ran.err.contains(err) && (ran.err.is_empty() || !err.is_empty()), "{script}: {}", ran.err);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_only_gnu_has_is_refused() {
    let world = World::new().await;
    let mac = world.mac(1).await;
    let cases: &[Case] = &[
        ("stat -c %f /", 1, "", "stat: illegal option -- c\nusage: stat "),
        ("stat --format=%f /", 1, "", "stat: illegal option -- -"),
        ("echo x | base64 -w0", 64, "", "base64: invalid option -- w\nUsage:"),
        ("command -v sha256sum", 1, "", ""),
        ("command -v md5sum readlinkf systemctl useradd", 1, "", ""),
        ("mv -T a b", 64, "", "mv: illegal option -- T\nusage: mv "),
        ("cp --parents a b", 64, "", "cp: unrecognized option `--parents'"),
        ("ln -sr a b", 1, "", "ln: illegal option -- r"),
        ("date -d yesterday", 1, "", "date: illegal option -- d"),
        ("echo x | grep -P x", 2, "", "grep: illegal option -- P"),
        ("shasum --tag x", 1, "", "Unknown option: -"),
        ("uname --all", 1, "", "uname: illegal option -- -"),
        ("id --user", 1, "", "id: illegal option -- -"),
        ("sysctl kernel.random.boot_id", 1, "", "sysctl: unknown oid 'kernel.random.boot_id'"),
        ("chown nobody-there /etc/hosts", 1, "", "chown: nobody-there: illegal user name"),
    ];
    check(&world, &mac, cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_mac_tells_of_itself() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let cases: &[Case] = &[
        ("sw_vers", 0, "ProductName:\t\tmacOS\nProductVersion:\t\t26.3\nBuildVersion:\t\t25D124\n", ""),
        ("uname; uname -sm; uname -r", 0, "Darwin\nDarwin arm64\n25.3.0\n", ""),
        ("sysctl -n hw.memsize hw.ncpu", 0, "17179869184\n10\n", ""),
        ("sysctl hw.model", 0, "hw.model: Mac14,12\n", ""),
        ("arch; whoami; id -u; id -gn; sudo -n id -un", 0, "arm64\nm1\n501\nstaff\nroot\n", ""),
        ("id nobody-there", 1, "", "id: nobody-there: no such user"),
        ("scutil --get HostName", 1, "", "HostName: not set"),
        ("scutil --set HostName mini", 1, "", "Permission denied"),
        ("sudo -n scutil --set HostName mini-1.example", 0, "", ""),
        ("sudo -n scutil --set LocalHostName a.b", 1, "", "Invalid argument"),
        ("sudo -n scutil --set LocalHostName mini-1", 0, "", ""),
        ("scutil --get HostName; scutil --get LocalHostName", 0, "mini-1.example\nmini-1\n", ""),
        ("hostname; hostname -s", 0, "mini-1.example\nmini-1\n", ""),
        (
            "dscl . -read /Users/m1 UniqueID NFSHomeDirectory",
            0,
            "UniqueID: 501\nNFSHomeDirectory: /Users/m1\n",
            "",
        ),
        ("dscl . -read /Users/nobody-there", 56, "", "DS Error: -14136 (eDSRecordNotFound)"),
        ("sudo -n nothing-there", 1, "", "sudo: nothing-there: command not found"),
    ];
    check(&world, &mac, cases).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn preferences_are_property_lists() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let cases: &[Case] = &[
        ("defaults read com.example", 1, "", "Domain com.example does not exist"),
        ("defaults write com.example n -int 5 && defaults read com.example n", 0, "5\n", ""),
        ("defaults read-type com.example n", 0, "Type is integer\n", ""),
        ("defaults read com.example x", 1, "", "The domain/default pair of (com.example, x) does not exist"),
        (
            "defaults write /Library/Preferences/x k v",
            1,
            "",
            "Could not write domain /Library/Preferences/x; exiting",
        ),
        ("sudo -n defaults write /Library/Preferences/x a -array 10.0.0.0/8 b", 0, "", ""),
        (
            "defaults read /Library/Preferences/x.plist",
            0,
            "{\n    a =     (\n        \"10.0.0.0/8\",\n        b\n    );\n}\n",
            "",
        ),
        (
            "defaults read \"$FLEET_ROOT/Library/Preferences/x\" a",
            0,
            "(\n    \"10.0.0.0/8\",\n    b\n)\n",
            "",
        ),
        ("defaults delete com.example x", 1, "", "Domain (com.example) not found."),
        ("defaults delete com.example n && defaults read com.example", 0, "{\n}\n", ""),
    ];
    check(&world, &mac, cases).await;
    let found = plist::Value::from_file(mac.root().join("Library/Preferences/x.plist")).unwrap();
    assert_eq!(found.as_dictionary().unwrap()["a"].as_array().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn owners_are_kept() {
    let world = World::new().await;
    let mac = world.free_mac(1).await;
    let cases: &[Case] = &[
        ("stat -f '%Su:%Sg %Lp' /etc/hosts /Users/m1", 0, "root:wheel 644\nm1:staff 755\n", ""),
        ("echo x >~/x; stat -f '%Su:%Sg' ~/x", 0, "m1:staff\n", ""),
        ("chown root ~/x", 1, "", "Operation not permitted"),
        ("chgrp admin ~/x && stat -f %Sg ~/x", 0, "admin\n", ""),
        ("chgrp wheel ~/x", 1, "", "Operation not permitted"),
        ("sudo -n chown root:wheel ~/x && mv ~/x ~/y && stat -f %Su:%Sg ~/y", 0, "root:wheel\n", ""),
        ("cp ~/y ~/z && cp -p ~/y ~/p && stat -f %Su ~/z ~/p", 0, "m1\nroot\n", ""),
        ("rm -f ~/y && echo x >~/y && stat -f %Su ~/y", 0, "m1\n", ""),
        ("mkdir -p ~/d/e && sudo -n chown -R root ~/d && stat -f %u ~/d ~/d/e", 0, "0\n0\n", ""),
        (
            "ln -s nowhere ~/l && sudo -n chown -h nobody ~/l && stat -f '%Su %u %Y' ~/l",
            0,
            "nobody 4294967294 nowhere\n",
            "",
        ),
        ("stat -f %z /nothing", 1, "", "stat: /nothing: stat: No such file or directory"),
    ];
    check(&world, &mac, cases).await;
}
