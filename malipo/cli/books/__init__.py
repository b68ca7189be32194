"""malipo books …"""
