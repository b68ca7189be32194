"""malipo close …"""
