"""The style of the printed close: system fonts, black on white, one A4 sheet in landscape."""

STYLE = """
@page { size: A4 landscape; margin: 12mm; }
* { box-sizing: border-box; }
body { font: 8pt/1.3 "Liberation Sans", Arial, Helvetica, sans-serif; color: #000; background: #fff; margin: 0 auto;
       max-width: 273mm; }
h1 { font-size: 13pt; margin: 0 0 1mm; }
h2 { font-size: 9pt; margin: 3mm 0 .5mm; }
p { margin: 0 0 2mm; }
.verdict { font-weight: bold; }
table { border-collapse: collapse; width: 100%; }
th, td { padding: .4mm 1mm; text-align: left; border-bottom: .2mm solid #bbb; vertical-align: top; }
thead th { border-bottom: .3mm solid #000; font-weight: bold; }
.columns thead th + th { text-align: right; }
.columns thead th[colspan] { text-align: center; }
.columns thead tr + tr th { text-align: right; font-weight: normal; }
.columns tbody th { font-weight: normal; white-space: nowrap; }
.amount { text-align: right; white-space: nowrap; font-variant-numeric: tabular-nums; }
.total > * { font-weight: bold; border-top: .3mm solid #000; }
.differs { font-weight: bold; }
.side { display: flex; gap: 8mm; align-items: flex-start; }
.side > section:first-child { flex: 3; }
.side > section + section { flex: 2; }
.short { white-space: nowrap; }
.company { font-weight: bold; margin: 0; }
.to-sign { margin-top: 4mm; table-layout: fixed; break-inside: avoid; }
.to-sign td { border: 0; font-size: 7pt; padding-right: 8mm; }
.to-sign span { display: block; height: 7mm; border-bottom: .2mm solid #000; margin-bottom: .5mm; }
.signed { margin-top: 3mm; font-size: 6.5pt; overflow-wrap: anywhere; }
@media screen { body { padding: 8mm; } }
"""
