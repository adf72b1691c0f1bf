"""Know the machine: measured times, the laws that they follow, what is weak, and what to expect of more ranks.

    report/     texts for a terminal, pictures, one HTML file, two measurements side by side
    messages/   files/   processor/    what is timed: between ranks, on a disk, on cores
    timing/     the clock that times, the machine, the places of ranks, passes over all series
    records/    series, fits and machine as a file keeps them; figures of samples
    laws/       lines in size, laws in the number of ranks, predictions, weaknesses: numbers alone

A folder uses the folders below it. The room knows no models and no files of runs. Parts are imported when they are used.
"""

from typing import TYPE_CHECKING

from steppe.lazy import when_used

if TYPE_CHECKING:
    from steppe.measure.files.one_process import check_directory as check_directory
    from steppe.measure.files.one_process import measure_files as measure_files
    from steppe.measure.files.ranked_session import measure_ranked_files as measure_ranked_files
    from steppe.measure.laws.formula import read_formulas as read_formulas
    from steppe.measure.laws.formula import rehearse as rehearse
    from steppe.measure.laws.operation import OperationFit as OperationFit
    from steppe.measure.laws.operation import fit as fit
    from steppe.measure.laws.points import SamplePoints as SamplePoints
    from steppe.measure.laws.points import medians as medians
    from steppe.measure.laws.prediction import predict as predict
    from steppe.measure.laws.times_table import read_table as read_table
    from steppe.measure.laws.weakness import find_weaknesses as find_weaknesses
    from steppe.measure.messages.session import MessageOptions as MessageOptions
    from steppe.measure.messages.session import measure_messages as measure_messages
    from steppe.measure.processor.processor import check_cell as check_cell
    from steppe.measure.processor.processor import measure_processor as measure_processor
    from steppe.measure.records.document import Document as Document
    from steppe.measure.records.document import fit_again as fit_again
    from steppe.measure.records.document import fits_of_file as fits_of_file
    from steppe.measure.records.document import joined as joined
    from steppe.measure.records.document import made_now as made_now
    from steppe.measure.records.document import read_document as read_document
    from steppe.measure.records.document import record_fit as record_fit
    from steppe.measure.records.document import write_document as write_document
    from steppe.measure.report.comparison import compare as compare
    from steppe.measure.report.comparison import compared_text as compared_text
    from steppe.measure.report.html_report import write_report as write_report
    from steppe.measure.report.law_text import laws_of as laws_of
    from steppe.measure.report.law_text import lines_of as lines_of
    from steppe.measure.report.law_text import prediction_text as prediction_text
    from steppe.measure.report.law_text import rehearsals_text as rehearsals_text
    from steppe.measure.report.law_text import remarks_of as remarks_of
    from steppe.measure.report.law_text import weaknesses_text as weaknesses_text
    from steppe.measure.report.message_text import messages_text as messages_text
    from steppe.measure.report.rate_text import rates_text as rates_text
    from steppe.measure.timing.rounds import Tell as Tell

__getattr__, __dir__, __all__ = when_used(__name__, __file__)
