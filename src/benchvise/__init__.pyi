from benchvise.api.boards import Board as Board
from benchvise.api.diagnoses import why as why
from benchvise.api.results import compare as compare
from benchvise.api.results import open_store as open_store
from benchvise.api.traces import open_trace as open_trace

__version__: str
