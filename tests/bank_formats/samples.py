"""Statements as banks write them, by hand."""

CAMT = """<?xml version="1.0" encoding="UTF-8"?>
<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.053.001.08">
 <BkToCstmrStmt>
  <GrpHdr><MsgId>S-1</MsgId><CreDtTm>2026-11-20T06:00:00+03:00</CreDtTm></GrpHdr>
  <Stmt>
   <Id>2026-323</Id><ElctrncSeqNb>323</ElctrncSeqNb><CreDtTm>2026-11-20T06:00:00+03:00</CreDtTm>
   <FrToDt><FrDtTm>2026-11-19T00:00:00+03:00</FrDtTm><ToDtTm>2026-11-19T23:59:59+03:00</ToDtTm></FrToDt>
   <Acct><Id><Othr><Id>22010012345</Id></Othr></Id><Ccy>TZS</Ccy></Acct>
   <Bal><Tp><CdOrPrtry><Cd>OPBD</Cd></CdOrPrtry></Tp><Amt Ccy="TZS">1000000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-19</Dt></Dt></Bal>
   <Bal><Tp><CdOrPrtry><Cd>CLBD</Cd></CdOrPrtry></Tp><Amt Ccy="TZS">868229.50</Amt><CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-11-19</Dt></Dt></Bal>
   <Ntry><NtryRef>1</NtryRef><Amt Ccy="TZS">49500</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><Dt>2026-11-19</Dt></BookgDt><ValDt><Dt>2026-11-19</Dt></ValDt><AcctSvcrRef>FT26323AAAA</AcctSvcrRef>
    <BkTxCd><Prtry><Cd>EFT</Cd></Prtry></BkTxCd>
    <NtryDtls><TxDtls><Refs><MsgId>1KDMGZ0AAAAAAAAA</MsgId><EndToEndId>0123456789ABCDEF</EndToEndId></Refs>
     <RltdPties><Cdtr><Pty><Nm>Duka la Asha</Nm></Pty></Cdtr></RltdPties>
     <RmtInf><Ustrd>Settlement ST1</Ustrd></RmtInf></TxDtls></NtryDtls></Ntry>
   <Ntry><NtryRef>2</NtryRef><Amt Ccy="TZS">81500</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><DtTm>2026-11-19T14:00:00</DtTm></BookgDt><AcctSvcrRef>FT26323BBBB</AcctSvcrRef><BkTxCd/>
    <NtryDtls><Btch><MsgId>2KDMGZ0AAAAAAAAA</MsgId><NbOfTxs>2</NbOfTxs></Btch>
     <TxDtls><Refs><EndToEndId>1123456789ABCDEF</EndToEndId></Refs><Amt Ccy="TZS">80000</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>
     <TxDtls><Refs><EndToEndId>2123456789ABCDEF</EndToEndId></Refs><Amt Ccy="TZS">1500</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls></NtryDtls></Ntry>
   <Ntry><NtryRef>3</NtryRef><Amt Ccy="TZS">9000</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><Dt>2026-11-19</Dt></BookgDt><AcctSvcrRef>FT26323CCCC</AcctSvcrRef><BkTxCd/>
    <NtryDtls><Btch><MsgId>3KDMGZ0AAAAAAAAA</MsgId><NbOfTxs>3</NbOfTxs></Btch></NtryDtls></Ntry>
   <Ntry><NtryRef>4</NtryRef><Amt Ccy="TZS">9000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><RvslInd>true</RvslInd><Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><Dt>2026-11-19</Dt></BookgDt><AcctSvcrRef>FT26323DDDD</AcctSvcrRef><BkTxCd/>
    <NtryDtls><TxDtls><Refs><EndToEndId>3123456789ABCDEF</EndToEndId></Refs>
     <RtrInf><Rsn><Cd>AC04</Cd></Rsn><AddtlInf>ACCOUNT CLOSED</AddtlInf></RtrInf></TxDtls></NtryDtls></Ntry>
   <Ntry><NtryRef>5</NtryRef><Amt Ccy="TZS">770.50</Amt><CdtDbtInd>DBIT</CdtDbtInd><Sts><Cd>BOOK</Cd></Sts>
    <BookgDt><Dt>2026-11-19</Dt></BookgDt><AcctSvcrRef>CHG1</AcctSvcrRef><BkTxCd/><AddtlNtryInf>EFT CHARGES</AddtlNtryInf></Ntry>
   <Ntry><NtryRef>6</NtryRef><Amt Ccy="TZS">5000.00</Amt><CdtDbtInd>CRDT</CdtDbtInd><Sts><Cd>PDNG</Cd></Sts><BkTxCd/></Ntry>
  </Stmt>
 </BkToCstmrStmt>
</Document>
"""

# The version before the choice elements: a status as text, BIC, a party's name directly.
CAMT_02 = (
    CAMT.replace("camt.053.001.08", "camt.053.001.02")
    .replace("<Sts><Cd>BOOK</Cd></Sts>", "<Sts>BOOK</Sts>")
    .replace("<Sts><Cd>PDNG</Cd></Sts>", "<Sts>PDNG</Sts>")
    .replace("<Cdtr><Pty><Nm>Duka la Asha</Nm></Pty></Cdtr>", "<Cdtr><Nm>Duka la Asha</Nm></Cdtr>")
    .replace(
        '<Amt Ccy="TZS">80000</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>',
        '<AmtDtls><TxAmt><Amt Ccy="TZS">80000</Amt></TxAmt></AmtDtls></TxDtls>',
    )
    .replace(
        '<Amt Ccy="TZS">1500</Amt><CdtDbtInd>DBIT</CdtDbtInd></TxDtls>',
        '<AmtDtls><TxAmt><Amt Ccy="TZS">1500</Amt></TxAmt></AmtDtls></TxDtls>',
    )
)

MT940 = """:20:MALIPO323
:25:NMIBTZTZ/22010012345
:28C:323/1
:60F:C261118TZS1000000,00
:61:2611191119D49500,00NTRF0123456789ABCDEF//FT26323AAAA
EFT OUTWARD
:86:/EREF/0123456789ABCDEF/BENM//NAME/DUKA LA ASHA/REMI/SETTLEMENT ST1
:61:2611191119D81500,00NTRF2KDMGZ0AAAAAAAAA//FT26323BBBB
:86:BULK PAYMENT 2 ITEMS
:61:2611191119RD9000,NTRFNONREF//FT26323DDDD
:86:/RTRN/AC04 ACCOUNT CLOSED/EREF/3123456789ABCD
EF/REMI/RETURNED
:61:2611191119D770,50NCHGNONREF//CHG1
:86:EFT CHARGES
:61:261119ED5000,00NTRFNONREF
:62F:C261119TZS877229,50
-
"""
