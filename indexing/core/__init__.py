"""An update's decisions and values: slots, layouts, plans, receipts, the ledger, and the oracle that judges them."""
