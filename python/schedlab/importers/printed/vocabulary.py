"""What the words of printed tables mean: operations of MMTests, names of metrics, runs and parameters, directions."""

from __future__ import annotations

import re
from functools import lru_cache

from schedlab.results import Direction


def _any(*words: str) -> str:
    return "(?:" + "|".join(" ".join(words).split()) + ")"


def _whole(*words: str) -> re.Pattern[str]:
    """A pattern that finds any of the words, not within a longer word."""
    return re.compile(rf"(?<![a-z]){_any(*words)}(?![a-z])", re.IGNORECASE)


OPERATION = re.compile(
    _any(
        r"[AGHDS]mean Sub[AH]mean Mean Min Max Dm(?:in|ax) [123](?:st|nd|rd)-qrtle Max[-.]\d+%? Best\d+%Mean "
        r"CI[-.]\d+%? B[AH]mean(?:[-.%]\d+(?:\.\d+)?%?)?",
        r"Pctile(?:[-.%]?\d+(?:\.\d+)?%?)? \d+(?:th)?-?pctile [HSC]?Stddev [HSC]?CoeffVar Spread Range Samples",
        r"Percentage Ratio Ops Duration Lat Time [MG]B/sec Success Significant",
    )
    + r"\Z",
    re.IGNORECASE,
)
"""First words of MMTests' rows: its summary statistics, and the operations of benchmarks that print none."""
DURATION = re.compile(r"(?:User|System|Elapsed)\Z")
SPREAD_OPERATION = re.compile(r"(?:[HSC]?Stddev|[HSC]?CoeffVar|Spread|Range|CI[-.]\d)", re.IGNORECASE)


def begins_with_operation(head: str) -> bool:
    """Whether a row's head begins with one of MMTests' operations."""
    return OPERATION.match(head.partition(" ")[0]) is not None


_LOWER = _whole(
    r"lat latenc(?:y|ies) latency_\w+ times? runtime elapsed elsp syst system sys user real delay cost "
    r"wake-?ups? duration",
    r"misses faults? overhead stddev coeffvar [mun]?secs? seconds [un]s/op power energy jank\w* wait stall\w*",
)
_HIGHER = _whole(
    r"throughput tput ops iops [kmgt]?i?b/s(?:ec)? [kmg]?bps [kmg]bits?/s\w* ops/s\w* ops_per_sec per_process_ops",
    r"per_thread_ops rps tps qps nopm fps score bandwidth bw trans\w* requests files/sec rsec jobs[-/]per[-/]min",
    r"(?:events|transactions|requests|op(?:eration)?s|queries|messages|loops)[_\s]per[_\s]sec(?:ond)?",
    r"hit(?:\srate)? ipc processed workload bogo_ops efficiency",
)
_UNIXBENCH = re.compile(
    r"(?:dhrystone|(?:double-precision )?whetstone|execl throughput|file (?:copy|read|write) \d+ bufsize|"
    r"pipe throughput|pipe-based context switching|process creation|shell scripts \(\d+ concurrent\)|"
    r"system call overhead|system benchmarks index score)(?!\w)",
    re.IGNORECASE,
)
"""UnixBench's tests, all of them rates, whatever their names (``System Call Overhead`` counts loops a second)."""
_MORE, _LESS = r"higher|bigger|larger|more|greater", r"lower|smaller|less|fewer|shorter"
_SAID = re.compile(
    rf"\b(?:(?P<lower>{_LESS})|(?P<higher>{_MORE}))\b[^.\n]{{0,12}}\bbetter\b|"
    rf"\b(?:(?P<higher_worse>{_MORE})|(?P<lower_worse>{_LESS})) is worse\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=4096)
def said_direction(text: str) -> Direction | None:
    """The direction that a text states in words (``lower is better``)."""
    match = _SAID.search(text)
    if match is None:
        return None
    return "lower" if match["lower"] or match["higher_worse"] else "higher"


@lru_cache(maxsize=4096)
def worded_direction(text: str) -> Direction | None:
    """The direction that a name implies (``latency``, ``MB/s``); None when it implies none or both."""
    if _UNIXBENCH.match(text):
        return "higher"
    lower, higher = _LOWER.search(text), _HIGHER.search(text)
    if bool(lower) == bool(higher):
        return None
    return "lower" if lower else "higher"


_TELLING_APART = _any(
    r"groups? clients? threads? tasks? jobs? copies sizes? bs block_?sizes? pairs cpus? cores? workers? "
    r"warehouses instances?",
    r"iodepth qd depth scaling ccds? nodes? msg_?size procs? processes vms? loops scripts users numjobs "
    r"conns? connections streams?",
    r"case bytes i iter iterations?",
)
PARAMETER = re.compile(
    rf"#?\s*(?:of\s+)?(?:\w+\s)?(?:nr[_ ])?(?:num(?:ber)?(?:[_ ]of)?[_ ])?#?\s*(?:of\s+)?(?P<name>{_TELLING_APART})\b"
    r"(?:\s*[(\[]?[\w/ ]{0,6}[)\]]?)?:?\Z",
    re.IGNORECASE,
)
"""Names of columns that tell rows apart rather than hold results (``# of threads``, ``nr_pairs``, ``bs kB``)."""

METRIC = _whole(
    r"avguser totaluser totalsys elapsed user sys system real cpu%? (?:run)?time lat(?:ency)? throughput "
    r"tput ops(?:/s(?:ec)?)?",
    r"iops bw bandwidth rate score fps power energy avg average mean median min max(?:imum)? p?\d\d(?:\.\d+)?(?:th|%)?",
    r"std\.?\s?dev\.? stdev tps qps rps [kmg]i?b/s(?:ec)? ipc cycles instructions misses switches migrations duration",
    r"value count runtime nopm speed events requests usage secs? [mun]s",
)
RUN = re.compile(
    r"(?<![a-z])"
    + _any(
        r"before after base(?:line)? patch(?:ed|es|set)? unpatched vanilla w/o? with(?:out)? mainline "
        r"upstream tip default",
        r"orig(?:inal|in)? old new stock reverted? next rfc kernel menu teo eevdf cfs",
    )
    + r"(?![a-z])|\d\.\d+(?!\d*th)|\bv\d|-rc\d",
    re.IGNORECASE,
)
PERCENTILE = re.compile(r"p?\d\d(?:\.\d+)?(?:th|%|%?ile)|p\d\d(?:\.?\d+)?", re.IGNORECASE)
"""A percentile as the whole name of a column or row; ``50.0th`` looks like a version else."""
RUN_COLUMN = re.compile(
    r"(?:kernels?(?: \w+)?|config(?:uration)?|versions?|variants?|gov(?:ernors?)?|schedulers?|setup|branch|commit|"
    r"build)\Z",
    re.IGNORECASE,
)
GAIN_COLUMN = re.compile(
    r"(?:.*\s)?\(?(?:[%Δ]\s*)?"
    + _any(
        r"diff(?:erence)? change[sd]? chg delta gain imp(?:r|rovement|roved)? benefit regression reduction "
        r"reduced(?:\sby)?",
        r"increase decrease speed-?up pct perc(?:ent)?[_\s]?(?:diff|change) vs\.?\s[\w-]+ ratio\s%? "
        r"pct_change\d? %err degradation",
    )
    + r"\s*(?:\(?\s*%\s*\)?)?\)?(?:\s*\(?\d\)?)?\Z|%\Z",
    re.IGNORECASE,
)
PLAIN_CHANGE = _whole("diff(?:erence)? delta change[sd]? chg")
"""In the name of a column of changes: nothing that says whether more is better."""
_SPREADS = _any(
    r"ci(?:\(\+/?-\))? std\.?[_]?dev\.? std\.?\sdev\.? stddev stdev std sd s\.d\.? σ cov cv var rsd stderr sem",
    r"± \+/?- error",
)
SPREAD_COLUMN = re.compile(rf"(?:.*\s)?\(?%?\s*{_SPREADS}\s*%?\)?(?:\s\(\d+\))?\Z", re.IGNORECASE)
