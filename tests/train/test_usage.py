import subprocess
import sys

GIVEN_BACK = """
import numpy as np
from workflow_rl.train.usage import UsageMeter, peak_rss_mb, reset_peak

def use(megabytes):
    return np.ones(megabytes * 10**6, np.uint8).sum()

use(90)
high = peak_rss_mb()
reset_peak()
low = peak_rss_mb()
use(40)
print(high, low, peak_rss_mb(), UsageMeter().look().rss_mb)
"""


def test_the_peak_remembers_memory_that_was_given_back_until_it_is_reset() -> None:
    result = subprocess.run(
        [sys.executable, "-c", GIVEN_BACK], capture_output=True, text=True, check=True
    )
    high, low, again, held = map(float, result.stdout.split())
    assert high > held + 80
    assert low < high - 80
    assert again > held + 30
