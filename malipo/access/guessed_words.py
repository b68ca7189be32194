"""Words that are tried first by somebody who guesses passwords in Tanzania: names, places, clubs, networks, faith,
love, food, months, numbers and sayings, without spaces. English ones are in zxcvbn's own lists. Pure data.
"""

_NAMES = """
juma asha baraka neema rehema hassan hussein ali omari salum rashid hamisi mohamed mohammed ahmed athumani
bakari shabani ramadhani saidi selemani issa musa ibrahim yusuf khadija fatuma mwanaidi zainabu halima amina
mariam mwajuma zuhura hadija john joseph peter paul emmanuel daniel david michael james george godfrey elias
simon petro yohana mariamu anna grace joyce esther agnes rose happiness furaha upendo imani faraja tumaini
zawadi pendo amani subira rajabu abdallah hamza mushi komba massawe kimaro mrema lyimo mollel laizer mwakyusa
kessy shayo temu swai minja macha nyerere mkapa kikwete magufuli samia mwinyi karume
"""
_PLACES = """
tanzania tanganyika zanzibar daressalaam dar dodoma arusha mwanza mbeya morogoro tanga moshi kilimanjaro
iringa songea mtwara lindi tabora kigoma shinyanga singida musoma bukoba pemba unguja kariakoo ubungo
kinondoni temeke ilala sinza mbagala serengeti ngorongoro bagamoyo kibaha afrika africa eastafrica
afrikamashariki bongo kenya uganda
"""
_BRANDS = """
malipo mpesa vodacom voda tigo tigopesa mixx yas airtel airtelmoney halopesa halotel ttcl tpesa azampesa azam
clickpesa selcom nmb crdb nbc benki pesa wakala simba yanga simbasc yangasc youngafricans taifastars mnyama
azamfc bongoflava diamond duka biashara kampuni ofisi fedha hela shilingi password nenosiri siri funguo neno
admin
"""
_EVERYDAY = """
karibu sana asante habari mambo poa safi jambo hujambo sijambo shikamoo marahaba kwaheri kesho leo jana ndiyo
hapana nakupenda nakupendasana penda mapenzi mpenzi moyo rafiki mama baba dada kaka bibi babu mtoto watoto
familia ndugu mke mume mungu munguakubariki mungumwema mungunimwema munguibarikitanzania munguibarikiafrika
yesu yesuninjia yesunibwana bwana allah allahuakbar mashallah inshallah bismillah amina haleluya imani tumaini
neema baraka roho mtakatifu mtumishi simba chui tembo twiga kifaru nyati mbwa paka kuku samaki ng'ombe mbuzi
ndege nyoka kobe farasi chakula ugali wali nyama chai kahawa maji maziwa ndizi embe chungwa pilau chapati
mandazi nyumba gari baiskeli pikipiki bodaboda shule kazi kitabu kalamu simu mlango dirisha meza kiti jua
mwezi nyota mvua bahari ziwa mto mlima ardhi mbingu moto upepo nyekundu nyeusi nyeupe kijani bluu njano moja
mbili tatu nne tano sita saba nane tisa kumi mia elfu jumatatu jumanne jumatano alhamisi ijumaa jumamosi
jumapili januari februari machi aprili mei juni julai agosti septemba oktoba novemba desemba uhuru umoja
ujamaa amani upendo furaha haki kweli nguvu
"""
_SAYINGS = """
hakunamatata hakunakulala hapakazitu hapakazituu polepole harakaharaka harakaharakahainabaraka pamojatunaweza
kaziiendelee kazinauendelee uhurunaumoja uhurunakazi mambovipi mambosafi mambopoa karibusana kaributanzania
asantesana nakupenda milele pesanisabuniyaroho asiyesikialamkuu mtunimtu mtunautu subirayavutaheri
hababanahaba habanahabahujazakibaba umojaninguvu simbanguvumoja dareyoungafricans nguvumoja maishanisafari
maishamema maishamazuri lalasalama usikumwema habarizako habarizaasubuhi
"""

WORDS = frozenset(
    word.replace("'", "") for block in (_NAMES, _PLACES, _BRANDS, _EVERYDAY, _SAYINGS) for word in block.split()
)
