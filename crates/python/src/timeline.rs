//! Simulation with a timeline that is written to a file.

use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use schedlab_sim::{Outcome, Simulation};
use schedlab_timeline::{Interruptions, Timeline, write_interruptions};

use crate::error::Failure;

/// Bytes of the write buffer.
const BUFFER: usize = 1 << 18;

/// Run a simulation and write its timeline. After an error the file is not a valid timeline.
pub fn run(simulation: &Simulation, path: &Path) -> Result<Outcome, Failure> {
    let file = File::create(path).map_err(Failure::Timeline)?;
    let out = BufWriter::with_capacity(BUFFER, file);
    let mut timeline = Timeline::new(out, simulation.machine(), simulation.kernel());
    let outcome = simulation.run_observed(&mut timeline)?;
    synced(timeline.finish(outcome.ledger.closed_ns()).map_err(Failure::Timeline)?)?;
    Ok(outcome)
}

/// Write the timeline of a measurement of interruptions, a JSON document.
pub fn write(path: &Path, document: &str) -> Result<(), Failure> {
    let interruptions: Interruptions = serde_json::from_str(document)?;
    let file = File::create(path).map_err(Failure::Timeline)?;
    let out = BufWriter::with_capacity(BUFFER, file);
    synced(write_interruptions(out, &interruptions).map_err(Failure::Timeline)?)
}

fn synced(out: BufWriter<File>) -> Result<(), Failure> {
    // Some file systems report a full disk only at this call.
    let file = out.into_inner().map_err(|error| Failure::Timeline(error.into_error()))?;
    match file.metadata() {
        Ok(metadata) if metadata.is_file() => file.sync_all().map_err(Failure::Timeline)?,
        _ => {}
    }
    Ok(())
}
