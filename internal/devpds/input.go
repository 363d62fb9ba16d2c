package devpds

import (
	"net/url"
	"strconv"

	"github.com/bluesky-social/indigo/atproto/syntax"
	"github.com/ipfs/go-cid"
)

// text is a required string of the body.
func (req *request) text(key string) (string, error) {
	return textField(req.body, key, "$")
}

// textField is a required string of an object at a place.
func textField(body object, key, at string) (string, error) {
	v, ok := body[key]
	if !ok {
		return "", invalidRequest("Missing required key %q at %s", key, at)
	}
	s, ok := v.(string)
	if !ok {
		return "", invalidRequest("Expected string value type at %s.%s", at, key)
	}
	return s, nil
}

// optionalText is a string of the body, "" if it is absent.
func (req *request) optionalText(key string) (string, error) {
	if _, ok := req.body[key]; !ok {
		return "", nil
	}
	return req.text(key)
}

// flag is an optional boolean of the body; nil: absent.
func (req *request) flag(key string) (*bool, error) {
	v, ok := req.body[key]
	if !ok {
		return nil, nil
	}
	b, ok := v.(bool)
	if !ok {
		return nil, invalidRequest("Expected boolean value type at $.%s", key)
	}
	return &b, nil
}

// swapCID is a condition: nil where the key is absent, an undefined CID where it
// is null and null is allowed.
func (req *request) swapCID(key string, nullable bool) (*cid.Cid, error) {
	v, ok := req.body[key]
	if !ok {
		return nil, nil
	}
	if v == nil && nullable {
		return &cid.Cid{}, nil
	}
	s, err := req.text(key)
	if err != nil {
		return nil, err
	}
	c, err := parseCID(s, "$."+key)
	return &c, err
}

// checkIdentifier wants a handle or a DID.
func checkIdentifier(s, at string) error {
	if _, err := syntax.ParseAtIdentifier(s); err != nil {
		return invalidRequest("Invalid AT identifier (got %q) at %s", s, at)
	}
	return nil
}

// checkCollection wants an NSID.
func checkCollection(s, at string) error {
	if _, err := syntax.ParseNSID(s); err != nil {
		return invalidRequest("Invalid NSID (got %q) at %s", s, at)
	}
	return nil
}

// checkRKey wants a record key.
func checkRKey(s, at string) error {
	if len(s) > 512 {
		return invalidRequest("string too big (maximum 512, got %d) at %s", len(s), at)
	}
	if _, err := syntax.ParseRecordKey(s); err != nil {
		return invalidRequest("Invalid record key (got %q) at %s", s, at)
	}
	return nil
}

// recordParams are repo, collection and rkey of a query, checked.
func recordParams(q url.Values, repoKey string) (repo, collection, rkey string, err error) {
	repo, collection, rkey = q.Get(repoKey), q.Get("collection"), q.Get("rkey")
	check := checkIdentifier
	if repoKey == "did" {
		check = checkDID
	}
	if err := check(repo, "$."+repoKey); err != nil {
		return "", "", "", err
	}
	if err := checkCollection(collection, "$.collection"); err != nil {
		return "", "", "", err
	}
	return repo, collection, rkey, checkRKey(rkey, "$.rkey")
}

// checkDID wants a DID.
func checkDID(s, at string) error {
	if _, err := syntax.ParseDID(s); err != nil {
		return invalidRequest("Invalid DID (got %q) at %s", s, at)
	}
	return nil
}

// limitParam is the limit of a query, 1 to most.
func limitParam(q url.Values, usual, most int) (int, error) {
	if !q.Has("limit") {
		return usual, nil
	}
	n, err := strconv.Atoi(q.Get("limit"))
	switch {
	case err != nil:
		return 0, invalidRequest("Expected integer value type at $.limit")
	case n < 1:
		return 0, invalidRequest("integer too small (minimum 1, got %d) at $.limit", n)
	case n > most:
		return 0, invalidRequest("integer too big (maximum %d, got %d) at $.limit", most, n)
	}
	return n, nil
}

// recordFields are collection and rkey of an object, both required.
func recordFields(body object, at string) (collection, rkey string, err error) {
	if collection, err = textField(body, "collection", at); err != nil {
		return "", "", err
	}
	if err := checkCollection(collection, at+".collection"); err != nil {
		return "", "", err
	}
	if rkey, err = textField(body, "rkey", at); err != nil {
		return "", "", err
	}
	return collection, rkey, checkRKey(rkey, at+".rkey")
}

// pathOf is the repository path of a record.
func pathOf(collection, rkey string) string { return collection + "/" + rkey }

// parseCID of a string that a request holds.
func parseCID(text, where string) (cid.Cid, error) {
	c, err := cid.Decode(text)
	if err != nil {
		return cid.Undef, invalidRequest("Invalid CID string (got %q) at %s", text, where)
	}
	return c, nil
}
