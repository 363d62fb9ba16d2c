package devpds

import (
	"strings"

	"github.com/ipfs/go-cid"
)

// applyWritesType is what the $types of com.atproto.repo.applyWrites begin with.
const applyWritesType = "com.atproto.repo.applyWrites#"

// writeInput is the body of a call that writes records, checked as its lexicon
// says. That comes before rate limits: what doesn't pass costs no points.
type writeInput struct {
	// repo is a handle or a DID.
	repo string
	// validate is nil if absent.
	validate *bool
	// swapCommit is nil if absent.
	swapCommit *cid.Cid
	writes     []inputWrite
}

// inputWrite is one write of a body.
type inputWrite struct {
	// action is put, create, update or delete.
	action, collection string
	// rkey is "" where the server is to choose.
	rkey string
	// value is the record in the data model.
	value object
	// blobs and legacyBlobs are the CIDs of the blobs that value refers to.
	blobs, legacyBlobs []string
	// unencodable marks an integer that the reference fails on when it encodes.
	unencodable bool
	// swap is the condition on the record: nil: none; undefined: must be absent.
	swap *cid.Cid
}

// parseWrites reads what the bodies have in common.
func (req *request) parseWrites(writes ...inputWrite) error {
	in := &writeInput{writes: writes}
	var err error
	if in.repo, err = req.text("repo"); err != nil {
		return err
	}
	if err := checkIdentifier(in.repo, "$.repo"); err != nil {
		return err
	}
	if in.swapCommit, err = req.swapCID("swapCommit", false); err != nil {
		return err
	}
	in.validate, err = req.flag("validate")
	req.writes = in
	return err
}

// parsePut is the input of com.atproto.repo.putRecord.
func parsePut(req *request) error {
	w := inputWrite{action: "put"}
	var err error
	if w.collection, w.rkey, err = recordFields(req.body, "$"); err != nil {
		return err
	}
	if err := w.parseValue(req.body, "record", "$"); err != nil {
		return err
	}
	if w.swap, err = req.swapCID("swapRecord", true); err != nil {
		return err
	}
	return req.parseWrites(w)
}

// parseCreate is the input of com.atproto.repo.createRecord.
func parseCreate(req *request) error {
	w := inputWrite{action: "create"}
	if err := w.parseKey(req.body, "$"); err != nil {
		return err
	}
	if err := w.parseValue(req.body, "record", "$"); err != nil {
		return err
	}
	return req.parseWrites(w)
}

// parseDelete is the input of com.atproto.repo.deleteRecord.
func parseDelete(req *request) error {
	w := inputWrite{action: "delete"}
	var err error
	if w.collection, w.rkey, err = recordFields(req.body, "$"); err != nil {
		return err
	}
	if w.swap, err = req.swapCID("swapRecord", false); err != nil {
		return err
	}
	return req.parseWrites(w)
}

// parseApply is the input of com.atproto.repo.applyWrites. Conditions of single
// writes are ignored.
func parseApply(req *request) error {
	list, ok := req.body["writes"].([]any)
	if !ok {
		return invalidRequest("Missing required key %q at $", "writes")
	}
	writes := make([]inputWrite, len(list))
	for i, v := range list {
		at, w := place("writes", i), &writes[i]
		body, ok := v.(object)
		if !ok {
			return invalidRequest("Expected object value type at %s", at)
		}
		kind, _ := body["$type"].(string)
		w.action, ok = strings.CutPrefix(kind, applyWritesType)
		var err error
		switch {
		case ok && w.action == "create":
			err = w.parseKey(body, at)
		case ok && (w.action == "update" || w.action == "delete"):
			w.collection, w.rkey, err = recordFields(body, at)
		default:
			err = invalidRequest("Expected one of create, update or delete at %s.$type", at)
		}
		if err == nil && w.action != "delete" {
			err = w.parseValue(body, "value", at)
		}
		if err != nil {
			return err
		}
	}
	return req.parseWrites(writes...)
}

// parseKey reads collection and an optional rkey.
func (w *inputWrite) parseKey(body object, at string) error {
	if _, given := body["rkey"]; given {
		var err error
		w.collection, w.rkey, err = recordFields(body, at)
		return err
	}
	var err error
	if w.collection, err = textField(body, "collection", at); err != nil {
		return err
	}
	return checkCollection(w.collection, at+".collection")
}

// parseValue reads a record.
func (w *inputWrite) parseValue(body object, key, at string) error {
	raw, ok := body[key]
	if !ok {
		return invalidRequest("Missing required key %q at %s", key, at)
	}
	at += "." + key
	d := decoder{}
	v, err := d.fromJSON(raw, at)
	if err != nil {
		return err
	}
	w.unencodable, w.blobs, w.legacyBlobs = d.unencodable, d.blobs, d.legacyBlobs
	// {"$link": …} and {"$bytes": …} are no objects either.
	if w.value, ok = v.(object); !ok {
		return invalidRequest("Expected object value type (got %s) at %s", jsonText(raw), at)
	}
	return nil
}
