-- Serves: 0022
-- What customers see of a merchant on pay pages and receipts. Older processes neither write nor show it.

CREATE TABLE public_profiles (
    merchant_id      text COLLATE "C" PRIMARY KEY REFERENCES merchants,
    name             text,             -- as customers know the business; null: the name of its account
    phone            text,             -- international, as +255222123456: also a landline
    whatsapp         text,             -- international
    email            text,
    tin              text CHECK (tin ~ '^[0-9]{9}$'), -- taxpayer identification number, without dashes
    logo             bytea CHECK (octet_length(logo) <= 4096), -- a PNG that malipo has drawn, never the file that came
    logo_fingerprint text COLLATE "C", -- of the PNG: its address
    logo_width       smallint,
    logo_height      smallint,
    changed_at       timestamptz NOT NULL,
    CHECK ((logo IS NULL) = (logo_fingerprint IS NULL) AND (logo IS NULL) = (logo_width IS NULL)
        AND (logo IS NULL) = (logo_height IS NULL))
);
COMMENT ON TABLE public_profiles IS 'What customers see of a merchant: name, logo, contact, TIN.';

-- Two merchants may have the same logo.
CREATE INDEX public_profiles_by_logo ON public_profiles (logo_fingerprint) WHERE logo IS NOT NULL;
