"""Files: forcing read ahead, results written behind, checkpoints, folders. All is written whole or not at all, and verified when read."""

from steppe.io.archive import archive_store
from steppe.io.axis import Axis
from steppe.io.checkpoint import Checkpoint
from steppe.io.contents import Contents
from steppe.io.draft import Draft
from steppe.io.ensemble import Ensemble, Member
from steppe.io.field_store import FieldStore
from steppe.io.fields import FieldReader
from steppe.io.folder import Progress, RunFolder, Spent, read_costs, read_identity
from steppe.io.forcing_reader import ForcingReader
from steppe.io.forcing_scan import ForcingProblem, limits_of, scan
from steppe.io.forcing_store import ForcingStore, read_static
from steppe.io.identity import OtherRunError, run_id
from steppe.io.output import SHARD_STEPS, Group, Output, OutputCost, create_store
from steppe.io.output_writer import OutputWriter
from steppe.io.pack_file import check_pack, pack_store
from steppe.io.records import StoredRecords
from steppe.io.removal import check_removal, remove_run
from steppe.io.results import open_results, unpack
from steppe.io.run_folders import RunFolderInfo, find_runs
from steppe.io.spread import SpreadReader
from steppe.io.stream import ReadCounters

__all__ = [
    "SHARD_STEPS",
    "Axis",
    "Checkpoint",
    "Contents",
    "Draft",
    "Ensemble",
    "FieldReader",
    "FieldStore",
    "ForcingProblem",
    "ForcingReader",
    "ForcingStore",
    "Group",
    "Member",
    "OtherRunError",
    "Output",
    "OutputCost",
    "OutputWriter",
    "Progress",
    "ReadCounters",
    "RunFolder",
    "RunFolderInfo",
    "Spent",
    "SpreadReader",
    "StoredRecords",
    "archive_store",
    "check_pack",
    "check_removal",
    "create_store",
    "find_runs",
    "limits_of",
    "open_results",
    "pack_store",
    "read_costs",
    "read_identity",
    "read_static",
    "remove_run",
    "run_id",
    "scan",
    "unpack",
]
