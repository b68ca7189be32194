"""malipo floats …"""
