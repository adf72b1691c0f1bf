"""Know the machine: measured times, the laws that they follow, what is weak, and what to expect of more ranks.

    points      medians and their errors         line      t0 + n / r_inf, in pieces         table     times out of CSV
    family      laws in p, all fitted at once    law       the one that the points support   operation all of it, for one operation
    prediction  beyond what was measured         weakness  what is slower than it need be    formula   published laws
    sample      when blocks are enough, modes    clock     its step, its cost, time away     loops     what is timed, compiled
    messages    series of times, between ranks   session   all of them, with the machine     tables    as a terminal shows them
    files       reads, writes, codecs            disk      where, and what is in memory      codecs    what compresses
    processor   streams, random reads            cores     threads that begin together       arithmetic  and functions, compiled
    onesided    put, get, accumulate             nonblocking  collectives, hidden         rivals    faster ways of the same
    price       what a setting of MPI costs
    firsts      messages on fresh buffers    objects   pickled, out of band             sentences what series say together
    system      its functions, for loops         series    blocks become a series            rates     as a terminal shows them
    machine     what it is                       document  the JSON and its schema           text      what a terminal shows
    offsets     clocks of ranks, side by side    windows     ranks that begin by the clock     places    where ranks sit
    clock_record  as a document keeps them    recipes     as two papers measured           recipe_tables  as they print
    rehearsal   known laws, found again          comparison  two documents side by side
    pictures    as SVG                           report    one HTML file                     plan      which messages, by name
    ranked      files that many ranks read       output    what ranks write, three ways      ranked_session  both, and where

It knows no models and no files of runs. Parts are imported when they are used.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.measure.comparison import compare as compare
    from steppe.measure.comparison import compared_text as compared_text
    from steppe.measure.document import Document as Document
    from steppe.measure.document import check_target as check_target
    from steppe.measure.document import fit_again as fit_again
    from steppe.measure.document import joined as joined
    from steppe.measure.document import read_document as read_document
    from steppe.measure.document import record_fit as record_fit
    from steppe.measure.document import record_weaknesses as record_weaknesses
    from steppe.measure.document import write_document as write_document
    from steppe.measure.files import check_directory as check_directory
    from steppe.measure.files import measure_files as measure_files
    from steppe.measure.formula import read_formulas as read_formulas
    from steppe.measure.operation import OperationFit as OperationFit
    from steppe.measure.operation import Protocol as Protocol
    from steppe.measure.operation import fit as fit
    from steppe.measure.points import SamplePoints as SamplePoints
    from steppe.measure.points import medians as medians
    from steppe.measure.prediction import Prediction as Prediction
    from steppe.measure.prediction import predict as predict
    from steppe.measure.processor import check_cell as check_cell
    from steppe.measure.processor import measure_processor as measure_processor
    from steppe.measure.ranked_session import measure_ranked_files as measure_ranked_files
    from steppe.measure.rates import rates_text as rates_text
    from steppe.measure.rehearsal import rehearse as rehearse
    from steppe.measure.report import write_report as write_report
    from steppe.measure.series import Tell as Tell
    from steppe.measure.session import measure_messages as measure_messages
    from steppe.measure.table import read_table as read_table
    from steppe.measure.tables import measured_text as measured_text
    from steppe.measure.tables import messages_text as messages_text
    from steppe.measure.text import laws_of as laws_of
    from steppe.measure.text import lines_of as lines_of
    from steppe.measure.text import prediction_text as prediction_text
    from steppe.measure.text import rehearsals_text as rehearsals_text
    from steppe.measure.text import remarks_of as remarks_of
    from steppe.measure.text import weaknesses_text as weaknesses_text
    from steppe.measure.weakness import find_weaknesses as find_weaknesses
    from steppe.measure.weakness import of_fit as of_fit

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
