"""How patient each lane is."""

from schemas.words import Lane

# How long a batch that is not full may gather more while records keep coming, in seconds. Each hop has round trips per
# batch; at 1,500/s this took the in-app p95 from 9 to 1.3 s on two full cores, and it costs an idle system nothing.
GATHER_S: dict[Lane, float] = {"high": 0.01, "normal": 0.05, "low": 0.08}
FACTS_S = 0.2  # facts are read by people
