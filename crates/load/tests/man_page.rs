//! docs/man/schedload.1 is the page of the current command line.

use std::path::Path;

use schedlab_load::commands::command_line;

/// With `SCHEDLAB_WRITE=1` the test writes the page. The generator refers to a page for each subcommand; there is one page.
#[test]
fn the_man_page_is_current() {
    let mut page = Vec::new();
    let name = "schedload";
    let man = clap_mangen::Man::new(command_line().flatten_help(true));
    man.source(name).date("").manual("schedlab").render(&mut page).unwrap();
    let page = String::from_utf8(page).unwrap();
    let lines = page.lines().map(|line| match line.strip_suffix("(1)") {
        Some(subcommand) => subcommand.replacen("\\-", " ", 1),
        None => line.to_owned(),
    });
    let page = lines.map(|line| line + "\n").collect::<String>();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/man/schedload.1");
    if std::env::var_os("SCHEDLAB_WRITE").is_some() {
        std::fs::write(&path, &page).unwrap();
    }
    let written = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(page == written, "docs/man/schedload.1 is stale: run this test with SCHEDLAB_WRITE=1");
}
