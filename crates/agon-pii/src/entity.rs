//! What kinds of personal data can be found: one name for each, with the country that issues it.

use std::fmt;

/// A country by its ISO 3166-1 code, as in `GB`.
///
/// Entities named `UK_…` belong to `GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Country(&'static str);

impl Country {
    /// The two-letter code, upper case.
    #[must_use]
    pub const fn code(self) -> &'static str {
        self.0
    }
}

impl fmt::Display for Country {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.0)
    }
}

/// How an entity is reported in tables of quality.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Class {
    /// The same form everywhere: e-mail, cards, network addresses, dates of birth, labelled values.
    WorldWide,
    /// What opens something: keys, tokens, passwords.
    Secret,
    /// A number or plate that one country issues.
    National,
}

macro_rules! entities {
    ($($variant:ident = $name:literal, $class:ident, $country:literal;)+) => {
        /// A kind of personal data.
        ///
        /// Names are those of the catalogue in `docs/safety.md`; they are stable and safe to store.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Entity {
            $(#[doc = concat!("`", $name, "`.")] $variant,)+
        }

        impl Entity {
            /// Every entity, in the order of the catalogue.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The stable name, as in `EMAIL_ADDRESS`.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// In which part of a table of quality it is counted.
            #[must_use]
            pub const fn class(self) -> Class {
                match self { $(Self::$variant => Class::$class,)+ }
            }

            const fn country_code(self) -> &'static str {
                match self { $(Self::$variant => $country,)+ }
            }
        }
    };
}

impl Entity {
    /// The country that issues it; `None` for what has the same form everywhere.
    #[must_use]
    pub const fn country(self) -> Option<Country> {
        let code = self.country_code();
        if code.is_empty() {
            None
        } else {
            Some(Country(code))
        }
    }

    /// The entity of that exact name; `None` if there is none.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|entity| entity.name() == name)
    }
}

impl fmt::Display for Entity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

entities! {
    AbaRoutingNumber = "ABA_ROUTING_NUMBER", National, "US";
    Address = "ADDRESS", WorldWide, "";
    Age = "AGE", WorldWide, "";
    BankAccount = "BANK_ACCOUNT", WorldWide, "";
    BookingReference = "BOOKING_REFERENCE", WorldWide, "";
    CreditCard = "CREDIT_CARD", WorldWide, "";
    Crypto = "CRYPTO", WorldWide, "";
    DateOfBirth = "DATE_OF_BIRTH", WorldWide, "";
    DateTime = "DATE_TIME", WorldWide, "";
    EmailAddress = "EMAIL_ADDRESS", WorldWide, "";
    EmployeeId = "EMPLOYEE_ID", WorldWide, "";
    EuDebitCard = "EU_DEBIT_CARD", WorldWide, "";
    GpsCoordinates = "GPS_COORDINATES", WorldWide, "";
    HealthPlanNumber = "HEALTH_PLAN_NUMBER", WorldWide, "";
    IbanCode = "IBAN_CODE", WorldWide, "";
    Imei = "IMEI", WorldWide, "";
    IpAddress = "IP_ADDRESS", WorldWide, "";
    Location = "LOCATION", WorldWide, "";
    MacAddress = "MAC_ADDRESS", WorldWide, "";
    MedicalLicense = "MEDICAL_LICENSE", National, "US";
    MedicalRecordNumber = "MEDICAL_RECORD_NUMBER", WorldWide, "";
    Mrz = "MRZ", WorldWide, "";
    Person = "PERSON", WorldWide, "";
    PhoneNumber = "PHONE_NUMBER", WorldWide, "";
    StudentId = "STUDENT_ID", WorldWide, "";
    SwiftCode = "SWIFT_CODE", WorldWide, "";
    Url = "URL", WorldWide, "";
    Username = "USERNAME", WorldWide, "";
    Vin = "VIN", WorldWide, "";
    AwsAccessKey = "AWS_ACCESS_KEY", Secret, "";
    AwsSecretKey = "AWS_SECRET_KEY", Secret, "";
    GithubToken = "GITHUB_TOKEN", Secret, "";
    OpenaiApiKey = "OPENAI_API_KEY", Secret, "";
    GoogleApiKey = "GOOGLE_API_KEY", Secret, "";
    SlackToken = "SLACK_TOKEN", Secret, "";
    StripeKey = "STRIPE_KEY", Secret, "";
    Jwt = "JWT", Secret, "";
    PrivateKey = "PRIVATE_KEY", Secret, "";
    AzureStorageKey = "AZURE_STORAGE_KEY", Secret, "";
    SqlConnectionString = "SQL_CONNECTION_STRING", Secret, "";
    UrlCredentials = "URL_CREDENTIALS", Secret, "";
    Password = "PASSWORD", Secret, "";
    AdNrt = "AD_NRT", National, "AD";
    AeEmiratesId = "AE_EMIRATES_ID", National, "AE";
    ArCbu = "AR_CBU", National, "AR";
    ArCuit = "AR_CUIT", National, "AR";
    ArDni = "AR_DNI", National, "AR";
    AtIdCard = "AT_ID_CARD", National, "AT";
    AtPassport = "AT_PASSPORT", National, "AT";
    AtSvnr = "AT_SVNR", National, "AT";
    AtTaxId = "AT_TAX_ID", National, "AT";
    AtVat = "AT_VAT", National, "AT";
    AuAbn = "AU_ABN", National, "AU";
    AuAcn = "AU_ACN", National, "AU";
    AuBankAccount = "AU_BANK_ACCOUNT", National, "AU";
    AuDriverLicense = "AU_DRIVER_LICENSE", National, "AU";
    AuMedicare = "AU_MEDICARE", National, "AU";
    AuPassport = "AU_PASSPORT", National, "AU";
    AuTfn = "AU_TFN", National, "AU";
    BdNid = "BD_NID", National, "BD";
    BeNationalNumber = "BE_NATIONAL_NUMBER", National, "BE";
    BePassport = "BE_PASSPORT", National, "BE";
    BeVat = "BE_VAT", National, "BE";
    BgEgn = "BG_EGN", National, "BG";
    BgPassport = "BG_PASSPORT", National, "BG";
    BgPnf = "BG_PNF", National, "BG";
    BrCnpj = "BR_CNPJ", National, "BR";
    BrCpf = "BR_CPF", National, "BR";
    BrRg = "BR_RG", National, "BR";
    ByUnp = "BY_UNP", National, "BY";
    CaBankAccount = "CA_BANK_ACCOUNT", National, "CA";
    CaBcPhn = "CA_BC_PHN", National, "CA";
    CaBn = "CA_BN", National, "CA";
    CaDriverLicense = "CA_DRIVER_LICENSE", National, "CA";
    CaHealthNumber = "CA_HEALTH_NUMBER", National, "CA";
    CaPassport = "CA_PASSPORT", National, "CA";
    CaSin = "CA_SIN", National, "CA";
    ChAhv = "CH_AHV", National, "CH";
    ChUid = "CH_UID", National, "CH";
    ClIdCard = "CL_ID_CARD", National, "CL";
    ClRut = "CL_RUT", National, "CL";
    CnPassport = "CN_PASSPORT", National, "CN";
    CnResidentId = "CN_RESIDENT_ID", National, "CN";
    CnUscc = "CN_USCC", National, "CN";
    CoNit = "CO_NIT", National, "CO";
    CrCedula = "CR_CEDULA", National, "CR";
    CuNi = "CU_NI", National, "CU";
    CyIdCard = "CY_ID_CARD", National, "CY";
    CyTaxId = "CY_TAX_ID", National, "CY";
    CzBankAccount = "CZ_BANK_ACCOUNT", National, "CZ";
    CzBirthNumber = "CZ_BIRTH_NUMBER", National, "CZ";
    CzPassport = "CZ_PASSPORT", National, "CZ";
    DeBsnr = "DE_BSNR", National, "DE";
    DeFuehrerschein = "DE_FUEHRERSCHEIN", National, "DE";
    DeHandelsregister = "DE_HANDELSREGISTER", National, "DE";
    DeHealthInsurance = "DE_HEALTH_INSURANCE", National, "DE";
    DeIdCard = "DE_ID_CARD", National, "DE";
    DeKfz = "DE_KFZ", National, "DE";
    DeLanr = "DE_LANR", National, "DE";
    DePassport = "DE_PASSPORT", National, "DE";
    DePlz = "DE_PLZ", National, "DE";
    DeSocialSecurity = "DE_SOCIAL_SECURITY", National, "DE";
    DeTaxId = "DE_TAX_ID", National, "DE";
    DeTaxNumber = "DE_TAX_NUMBER", National, "DE";
    DeVatId = "DE_VAT_ID", National, "DE";
    DkCpr = "DK_CPR", National, "DK";
    DkCvr = "DK_CVR", National, "DK";
    DkPassport = "DK_PASSPORT", National, "DK";
    DoCedula = "DO_CEDULA", National, "DO";
    DoRnc = "DO_RNC", National, "DO";
    EcCi = "EC_CI", National, "EC";
    EcRuc = "EC_RUC", National, "EC";
    EePassport = "EE_PASSPORT", National, "EE";
    EePersonalCode = "EE_PERSONAL_CODE", National, "EE";
    EeVat = "EE_VAT", National, "EE";
    EgNationalId = "EG_NATIONAL_ID", National, "EG";
    EsBankAccount = "ES_BANK_ACCOUNT", National, "ES";
    EsCif = "ES_CIF", National, "ES";
    EsNie = "ES_NIE", National, "ES";
    EsNif = "ES_NIF", National, "ES";
    EsPassport = "ES_PASSPORT", National, "ES";
    EsSocialSecurity = "ES_SOCIAL_SECURITY", National, "ES";
    FiBusinessId = "FI_BUSINESS_ID", National, "FI";
    FiEhic = "FI_EHIC", National, "FI";
    FiPassport = "FI_PASSPORT", National, "FI";
    FiPersonalIdentityCode = "FI_PERSONAL_IDENTITY_CODE", National, "FI";
    FrCni = "FR_CNI", National, "FR";
    FrDriverLicense = "FR_DRIVER_LICENSE", National, "FR";
    FrNir = "FR_NIR", National, "FR";
    FrPassport = "FR_PASSPORT", National, "FR";
    FrSiren = "FR_SIREN", National, "FR";
    FrSiret = "FR_SIRET", National, "FR";
    FrTaxId = "FR_TAX_ID", National, "FR";
    FrVat = "FR_VAT", National, "FR";
    GbUtr = "GB_UTR", National, "GB";
    GbVat = "GB_VAT", National, "GB";
    GrAfm = "GR_AFM", National, "GR";
    GrAmka = "GR_AMKA", National, "GR";
    GrIdCard = "GR_ID_CARD", National, "GR";
    GrPassport = "GR_PASSPORT", National, "GR";
    GtNit = "GT_NIT", National, "GT";
    HkHkid = "HK_HKID", National, "HK";
    HrIdCard = "HR_ID_CARD", National, "HR";
    HrJmbg = "HR_JMBG", National, "HR";
    HrOib = "HR_OIB", National, "HR";
    HuIdCard = "HU_ID_CARD", National, "HU";
    HuPersonalId = "HU_PERSONAL_ID", National, "HU";
    HuPersonalTaxId = "HU_PERSONAL_TAX_ID", National, "HU";
    HuTaj = "HU_TAJ", National, "HU";
    HuTaxNumber = "HU_TAX_NUMBER", National, "HU";
    IdNik = "ID_NIK", National, "ID";
    IdNpwp = "ID_NPWP", National, "ID";
    IePassport = "IE_PASSPORT", National, "IE";
    IePps = "IE_PPS", National, "IE";
    IlBankAccount = "IL_BANK_ACCOUNT", National, "IL";
    IlCompanyId = "IL_COMPANY_ID", National, "IL";
    IlId = "IL_ID", National, "IL";
    InAadhaar = "IN_AADHAAR", National, "IN";
    InGstin = "IN_GSTIN", National, "IN";
    InPan = "IN_PAN", National, "IN";
    InPassport = "IN_PASSPORT", National, "IN";
    InVehicleRegistration = "IN_VEHICLE_REGISTRATION", National, "IN";
    InVid = "IN_VID", National, "IN";
    InVoter = "IN_VOTER", National, "IN";
    IrNationalId = "IR_NATIONAL_ID", National, "IR";
    IsKennitala = "IS_KENNITALA", National, "IS";
    ItDriverLicense = "IT_DRIVER_LICENSE", National, "IT";
    ItFiscalCode = "IT_FISCAL_CODE", National, "IT";
    ItIdentityCard = "IT_IDENTITY_CARD", National, "IT";
    ItPassport = "IT_PASSPORT", National, "IT";
    ItVatCode = "IT_VAT_CODE", National, "IT";
    JpBankAccount = "JP_BANK_ACCOUNT", National, "JP";
    JpCorporateNumber = "JP_CORPORATE_NUMBER", National, "JP";
    JpDriverLicense = "JP_DRIVER_LICENSE", National, "JP";
    JpMyNumber = "JP_MY_NUMBER", National, "JP";
    JpPassport = "JP_PASSPORT", National, "JP";
    JpResidenceCard = "JP_RESIDENCE_CARD", National, "JP";
    JpResidentRegistration = "JP_RESIDENT_REGISTRATION", National, "JP";
    JpSocialInsurance = "JP_SOCIAL_INSURANCE", National, "JP";
    KeKraPin = "KE_KRA_PIN", National, "KE";
    KrBrn = "KR_BRN", National, "KR";
    KrDriverLicense = "KR_DRIVER_LICENSE", National, "KR";
    KrFrn = "KR_FRN", National, "KR";
    KrPassport = "KR_PASSPORT", National, "KR";
    KrRrn = "KR_RRN", National, "KR";
    KzIin = "KZ_IIN", National, "KZ";
    LkNic = "LK_NIC", National, "LK";
    LtPassport = "LT_PASSPORT", National, "LT";
    LtPersonalCode = "LT_PERSONAL_CODE", National, "LT";
    LuNationalId = "LU_NATIONAL_ID", National, "LU";
    LuVat = "LU_VAT", National, "LU";
    LvPassport = "LV_PASSPORT", National, "LV";
    LvPersonalCode = "LV_PERSONAL_CODE", National, "LV";
    MaIce = "MA_ICE", National, "MA";
    MdIdno = "MD_IDNO", National, "MD";
    MtIdCard = "MT_ID_CARD", National, "MT";
    MtPassport = "MT_PASSPORT", National, "MT";
    MtVat = "MT_VAT", National, "MT";
    MuNationalId = "MU_NATIONAL_ID", National, "MU";
    MxClabe = "MX_CLABE", National, "MX";
    MxCurp = "MX_CURP", National, "MX";
    MxRfc = "MX_RFC", National, "MX";
    MyNric = "MY_NRIC", National, "MY";
    NgNin = "NG_NIN", National, "NG";
    NgVehicleRegistration = "NG_VEHICLE_REGISTRATION", National, "NG";
    NlBsn = "NL_BSN", National, "NL";
    NlDriverLicense = "NL_DRIVER_LICENSE", National, "NL";
    NlPassport = "NL_PASSPORT", National, "NL";
    NlVat = "NL_VAT", National, "NL";
    NoBankAccount = "NO_BANK_ACCOUNT", National, "NO";
    NoFodselsnummer = "NO_FODSELSNUMMER", National, "NO";
    NoOrgnr = "NO_ORGNR", National, "NO";
    NoPassport = "NO_PASSPORT", National, "NO";
    NzBankAccount = "NZ_BANK_ACCOUNT", National, "NZ";
    NzDriverLicense = "NZ_DRIVER_LICENSE", National, "NZ";
    NzIrd = "NZ_IRD", National, "NZ";
    NzNhi = "NZ_NHI", National, "NZ";
    NzPassport = "NZ_PASSPORT", National, "NZ";
    NzSwn = "NZ_SWN", National, "NZ";
    PeDni = "PE_DNI", National, "PE";
    PeRuc = "PE_RUC", National, "PE";
    PhMobileNumber = "PH_MOBILE_NUMBER", National, "PH";
    PhSss = "PH_SSS", National, "PH";
    PhTin = "PH_TIN", National, "PH";
    PhUmid = "PH_UMID", National, "PH";
    PkCnic = "PK_CNIC", National, "PK";
    PlIdCard = "PL_ID_CARD", National, "PL";
    PlNip = "PL_NIP", National, "PL";
    PlPassport = "PL_PASSPORT", National, "PL";
    PlPesel = "PL_PESEL", National, "PL";
    PlRegon = "PL_REGON", National, "PL";
    PtCitizenCard = "PT_CITIZEN_CARD", National, "PT";
    PtNif = "PT_NIF", National, "PT";
    PtPassport = "PT_PASSPORT", National, "PT";
    PyRuc = "PY_RUC", National, "PY";
    RoCif = "RO_CIF", National, "RO";
    RoCnp = "RO_CNP", National, "RO";
    RoPassport = "RO_PASSPORT", National, "RO";
    RsJmbg = "RS_JMBG", National, "RS";
    RsPib = "RS_PIB", National, "RS";
    RuInn = "RU_INN", National, "RU";
    RuOgrn = "RU_OGRN", National, "RU";
    RuPassport = "RU_PASSPORT", National, "RU";
    RuPassportIntl = "RU_PASSPORT_INTL", National, "RU";
    RuSnils = "RU_SNILS", National, "RU";
    SaNationalId = "SA_NATIONAL_ID", National, "SA";
    SeOrganisationsnummer = "SE_ORGANISATIONSNUMMER", National, "SE";
    SePassport = "SE_PASSPORT", National, "SE";
    SePersonnummer = "SE_PERSONNUMMER", National, "SE";
    SeTaxId = "SE_TAX_ID", National, "SE";
    SgNricFin = "SG_NRIC_FIN", National, "SG";
    SgUen = "SG_UEN", National, "SG";
    SiEmso = "SI_EMSO", National, "SI";
    SiPassport = "SI_PASSPORT", National, "SI";
    SiTaxId = "SI_TAX_ID", National, "SI";
    SkBirthNumber = "SK_BIRTH_NUMBER", National, "SK";
    SkPassport = "SK_PASSPORT", National, "SK";
    SvNit = "SV_NIT", National, "SV";
    ThTnin = "TH_TNIN", National, "TH";
    TrLicensePlate = "TR_LICENSE_PLATE", National, "TR";
    TrNationalId = "TR_NATIONAL_ID", National, "TR";
    TrPhoneNumber = "TR_PHONE_NUMBER", National, "TR";
    TrTaxNumber = "TR_TAX_NUMBER", National, "TR";
    TwNationalId = "TW_NATIONAL_ID", National, "TW";
    TwPassport = "TW_PASSPORT", National, "TW";
    TwResidentCert = "TW_RESIDENT_CERT", National, "TW";
    TwUbn = "TW_UBN", National, "TW";
    UaEdrpou = "UA_EDRPOU", National, "UA";
    UaPassport = "UA_PASSPORT", National, "UA";
    UaPassportIntl = "UA_PASSPORT_INTL", National, "UA";
    UaRntrc = "UA_RNTRC", National, "UA";
    UkDrivingLicence = "UK_DRIVING_LICENCE", National, "GB";
    UkElectoralRoll = "UK_ELECTORAL_ROLL", National, "GB";
    UkNhs = "UK_NHS", National, "GB";
    UkNino = "UK_NINO", National, "GB";
    UkPassport = "UK_PASSPORT", National, "GB";
    UkPostcode = "UK_POSTCODE", National, "GB";
    UkSortCode = "UK_SORT_CODE", National, "GB";
    UkVehicleRegistration = "UK_VEHICLE_REGISTRATION", National, "GB";
    UsAtin = "US_ATIN", National, "US";
    UsBankNumber = "US_BANK_NUMBER", National, "US";
    UsDriverLicense = "US_DRIVER_LICENSE", National, "US";
    UsEin = "US_EIN", National, "US";
    UsItin = "US_ITIN", National, "US";
    UsMbi = "US_MBI", National, "US";
    UsNpi = "US_NPI", National, "US";
    UsPassport = "US_PASSPORT", National, "US";
    UsSsn = "US_SSN", National, "US";
    UyRut = "UY_RUT", National, "UY";
    VeRif = "VE_RIF", National, "VE";
    VnCitizenId = "VN_CITIZEN_ID", National, "VN";
    VnTaxCode = "VN_TAX_CODE", National, "VN";
    ZaIdNumber = "ZA_ID_NUMBER", National, "ZA";
    ZaTaxId = "ZA_TAX_ID", National, "ZA";
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn names_are_distinct_and_parse_back() {
        let names: BTreeSet<&str> = Entity::ALL.iter().map(|entity| entity.name()).collect();
        assert_eq!(names.len(), Entity::ALL.len());
        for entity in Entity::ALL {
            assert_eq!(Entity::parse(entity.name()), Some(*entity));
        }
        assert_eq!(Entity::parse("email_address"), None);
    }

    #[test]
    fn national_entities_have_a_country_of_two_letters() {
        for entity in Entity::ALL {
            let country = entity.country().map(Country::code);
            assert_eq!(
                country.is_some(),
                entity.class() == Class::National,
                "{entity}"
            );
            assert!(
                country.is_none_or(|code| code.len() == 2 && code != "UK"),
                "{entity}"
            );
        }
    }
}
