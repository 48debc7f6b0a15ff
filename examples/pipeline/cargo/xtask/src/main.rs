// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//! The loop by cargo: a release is BOLTed with the profile of the release before it.
//!
//!     cargo xtask release 1         build, first profile, BOLT, check, ship: releases/1/json.bolt
//!     cargo xtask production 1      run what was shipped, record it, check the profile
//!     cargo xtask release 2 1       build, carry release 1's profile to it, BOLT, check, ship
//!     cargo xtask gain 2 1          count what that was worth
//!
//! For your own program change APP, TRAINING, WORK and the features in `build`.
use std::env;
use std::fs::{self, File};
use std::path::Path;
use std::process::{exit, Command};

const APP: &str = "json";
/// The run for the first profile, and the work of production.
const TRAINING: [&str; 2] = ["sample.json", "5"];
const WORK: [&str; 2] = ["sample.json", "20"];
const BOLT_FLAGS: [&str; 4] =
    ["-reorder-blocks=ext-tsp", "-reorder-functions=cdsort", "-split-functions", "-dyno-stats"];

fn main() {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["release", new] => release(new, None),
        ["release", new, last] => release(new, Some(last)),
        ["production", new] => production(new),
        ["gain", new, last] => gain(new, last),
        _ => fail("expected release NEW [LAST], production NEW or gain NEW LAST"),
    }
}

fn release(new: &str, last: Option<&str>) {
    let app = file(new, "");
    let (fdata, bolted, whole) = (file(new, ".fdata"), file(new, ".bolt"), file(new, ".whole"));
    build(new, &app);
    match last {
        // The first profile, of a training run; later that of the last release in production.
        None => run(Command::new("sh").args(["../profile.sh", "first", &app, &fdata, "--"]).args(TRAINING)),
        Some(last) => run(translate(last).arg(format!("--for={app}")).args(["--check", "-o", &fdata])),
    }
    let log = file(new, ".log");
    let mut bolt = Command::new(bolt_command());
    bolt.args([&app, "-o", &whole, "-data", &fdata, "--enable-bat"]).args(BOLT_FLAGS);
    let output = File::create(&log).unwrap_or_else(|error| fail(&format!("{log}: {error}")));
    bolt.stderr(output.try_clone().unwrap()).stdout(output);
    run(&mut bolt);
    run(Command::new("grep").args(["taken branches", &log]));
    run(Command::new("batvalidate").args(["--round-trip", &format!("--original={app}"), &whole]));
    // The whole file goes into the release's store; what is left ships.
    let _ = fs::remove_dir_all(format!("releases/{new}/store"));
    run(Command::new("batinject").args([&whole, &store(new), "-o", &bolted]));
    fs::remove_file(&whole).unwrap();
}

/// Build with relocations (-q) for llvm-bolt and a build-id, by which tools find the files of a release.
fn build(new: &str, app: &str) {
    let mut cargo = Command::new(env::var("CARGO").unwrap_or_else(|_| "cargo".into()));
    cargo.args(["rustc", "--quiet", "--release", "--package", APP]);
    if new != "1" {
        cargo.args(["--features", "release-2"]);
    }
    run(cargo.args(["--", "-C", "link-arg=-Wl,-q", "-C", "link-arg=-Wl,--build-id=sha1"]));
    fs::create_dir_all(Path::new(app).parent().unwrap()).unwrap();
    let built = format!("{}/release/{APP}", env::var("CARGO_TARGET_DIR").unwrap_or_else(|_| "target".into()));
    fs::copy(&built, app).unwrap_or_else(|error| fail(&format!("{built}: {error}")));
    if !Path::new("sample.json").exists() {
        let sample = File::create("sample.json").unwrap();
        run(Command::new(app).args(["--sample", "3000"]).stdout(sample));
    }
}

fn production(new: &str) {
    let recording = format!("releases/{new}/production");
    run(Command::new("sh").args(["../profile.sh", "record", &file(new, ".bolt"), &recording, "--"]).args(WORK));
    let baseline = format!("--check-baseline={}", file(new, ".fdata"));
    run(translate(new).args(["--check", &baseline, "-o", &format!("{recording}.fdata")]));
}

fn gain(new: &str, last: &str) {
    let mut script = Command::new("sh");
    script.args(["../gain.sh", &format!("releases/{last}"), &format!("releases/{new}"), "--"]).args(WORK);
    run(script.env("APP", APP).env("BOLT", bolt_command()));
}

/// battranslate for the recording of a release, moved to the addresses of the program that BOLT read.
fn translate(release: &str) -> Command {
    let mut command = Command::new("battranslate");
    command.args([&file(release, ".bolt"), &store(release), &format!("--original={}", file(release, ""))]);
    command.args(["-p", &format!("releases/{release}/production")]);
    command
}

fn file(release: &str, ending: &str) -> String {
    format!("releases/{release}/{APP}{ending}")
}

/// The option that names a release's whole files.
fn store(release: &str) -> String {
    format!("--store=releases/{release}/store")
}

fn bolt_command() -> String {
    let has_short = || Command::new("llvm-bolt").arg("--version").output().is_ok();
    env::var("BOLT").unwrap_or_else(|_| if has_short() { "llvm-bolt" } else { "llvm-bolt-22" }.into())
}

/// Run a command; the loop ends with the first one that fails.
fn run(command: &mut Command) {
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => fail(&format!("{status} from {command:?}")),
        Err(error) => fail(&format!("{command:?}: {error}")),
    }
}

fn fail(what: &str) -> ! {
    eprintln!("xtask: {what}");
    exit(1)
}
