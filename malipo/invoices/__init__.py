"""Invoices of the fees that merchants have paid, with VAT, and credit notes."""
