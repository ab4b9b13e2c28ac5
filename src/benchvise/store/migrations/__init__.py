"""The history of the store's tables, run by ``benchvise.store.database``."""
