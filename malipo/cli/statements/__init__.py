"""malipo statements …"""
