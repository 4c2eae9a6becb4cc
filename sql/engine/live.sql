-- The records alive at a moment. The rule is applied always, whatever the files still hold.
SELECT {columns}
FROM ({stored})
WHERE valid_until > {as_of}
