"""Files: forcing read ahead, results written behind, checkpoints, folders. All is written whole or not at all, and verified when read.

export          NetCDF, CSV and GeoTIFF of results
results         results and forcing stores as datasets and arrays
folders         run folders, ensembles
checkpoints     the state of a run            output   results on their way to the disk
forcing         stores of weather, read ahead and spread among ranks
shard, axis, coordinates, sealed, alone       shared by all of these
"""

from steppe.io.axis import Axis
from steppe.io.checkpoints.checkpoint import Checkpoint
from steppe.io.checkpoints.contents import Contents
from steppe.io.checkpoints.draft import Draft
from steppe.io.checkpoints.remote import load_checkpoint
from steppe.io.folders.folder import RunFolder, check_place, link_run, read_costs, read_identity
from steppe.io.folders.removal import check_removal, remove_run
from steppe.io.folders.run_folders import RunFolderInfo, find_runs, in_use
from steppe.io.folders.run_log import changes_of, forked_at, held_by, manifests, oldest_with_changes, scripted
from steppe.io.folders.run_progress import Progress, Spent, expect_checkpoint
from steppe.io.folders.scenarios import Ensemble, Member, expect_no_ensemble, expect_no_results, listed
from steppe.io.folders.served import check_continuable, results_folder
from steppe.io.forcing.archive import archive_store
from steppe.io.forcing.described import described, place_described
from steppe.io.forcing.field_store import FieldStore
from steppe.io.forcing.fields import FieldReader
from steppe.io.forcing.own_map import read_map
from steppe.io.forcing.pack_file import check_pack, pack_store
from steppe.io.forcing.reader import ForcingReader
from steppe.io.forcing.scan import ForcingProblem, limits_of, scan
from steppe.io.forcing.spread import SpreadReader
from steppe.io.forcing.store import ForcingStore, read_static
from steppe.io.forcing.stream import ReadCounters
from steppe.io.identity import Identity, OtherRunError, run_id
from steppe.io.output.store import A_DAY, SHARD_STEPS, SINGLE, Group, Output, OutputCost, create_store
from steppe.io.output.writer import OutputWriter
from steppe.io.results.dataset import MAPS, names_of, open_results, unpack
from steppe.io.results.records import StoredRecords
from steppe.io.shard import write_durable

__all__ = [
    "A_DAY",
    "MAPS",
    "SHARD_STEPS",
    "SINGLE",
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
    "Identity",
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
    "changes_of",
    "check_continuable",
    "check_pack",
    "check_place",
    "check_removal",
    "create_store",
    "described",
    "expect_checkpoint",
    "expect_no_ensemble",
    "expect_no_results",
    "find_runs",
    "forked_at",
    "held_by",
    "in_use",
    "limits_of",
    "link_run",
    "listed",
    "load_checkpoint",
    "manifests",
    "names_of",
    "oldest_with_changes",
    "open_results",
    "pack_store",
    "place_described",
    "read_costs",
    "read_identity",
    "read_map",
    "read_static",
    "remove_run",
    "results_folder",
    "run_id",
    "scan",
    "scripted",
    "unpack",
    "write_durable",
]
