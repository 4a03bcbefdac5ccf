//! Timelines of interruptions, read with the types of the format.

use prost::Message;
use schedlab_timeline::schema::{BEGIN, Data, Trace};
use schedlab_timeline::{Gap, Interruptions, write_interruptions};

fn measured() -> Interruptions {
    let gap = Gap {
        cpu: 3,
        at_ns: 1000.4,
        length_ns: 90.0,
        main: 1,
        // A task with an interrupt in it, and a second interrupt after it.
        parts: vec![(1, 1010.0, 1060.0), (0, 1020.0, 1030.0), (0, 1060.0, 1095.0)],
        rest: vec![(2, 15.0)],
        senders: vec![(1, "task rustc on CPU 0 in rcu_core".to_owned())],
    };
    let causes = ["reschedule interrupt", "task planted", "unexplained"].map(str::to_owned).to_vec();
    Interruptions { target: "host".to_owned(), causes, cpus: vec![(2, 500), (3, 600)], gaps: vec![gap] }
}

#[test]
fn causes_are_slices_inside_the_slice_of_their_gap() {
    let bytes = write_interruptions(Vec::new(), &measured()).unwrap();
    let trace = Trace::decode(bytes.as_slice()).unwrap();
    let mut names = Vec::new();
    let mut slices = Vec::new();
    for packet in &trace.packet {
        if packet.trusted_packet_sequence_id == Some(5) {
            names.extend(packet.interned_data.iter().flat_map(|data| &data.event_names));
        }
        if let Some(Data::TrackEvent(event)) = &packet.data {
            let name = event.name_iid.map(|iid| names[iid as usize - 1].name.as_deref().unwrap());
            slices.push((packet.timestamp.unwrap(), (event.r#type == Some(BEGIN)).then(|| name.unwrap())));
        }
    }
    let expected = [
        (1100, Some("gap: task planted")),
        (1110, Some("task planted")),
        (1120, Some("reschedule interrupt")),
        (1130, None),
        (1160, None),
        (1160, Some("reschedule interrupt")),
        (1195, None),
        (1195, None),
    ];
    assert_eq!(slices, expected);
}

#[test]
fn a_cause_or_a_cpu_that_does_not_exist_is_refused() {
    let mut wrong = measured();
    wrong.gaps[0].main = 3;
    assert!(write_interruptions(Vec::new(), &wrong).unwrap_err().to_string().starts_with("cause 3"));
    let mut wrong = measured();
    wrong.gaps[0].cpu = 9;
    assert!(write_interruptions(Vec::new(), &wrong).unwrap_err().to_string().starts_with("CPU 9"));
}
