package testpds

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"sort"
	"strings"

	"github.com/ipld/go-car"
)

// random names the fields whose values differ from run to run: what is compared
// is that they are there, and their type.
var random = map[string]bool{
	"rev": true, "accessJwt": true, "refreshJwt": true, "head": true, "createdAt": true,
	"password": true, "didDoc": true, "version": true,
	// Blobs are not served here.
	"blobUploadLimit": true,
}

// normal is an answer in a form that is equal for two PDSes that behave alike.
func (p *peer) normal(a answer, loose bool) string {
	var v any
	switch {
	case a.body != nil:
		v = p.normalValue("", a.body, loose)
	case strings.HasPrefix(a.header.Get("Content-Type"), "application/vnd.ipld.car"):
		v = carBlocks(a.raw)
	default:
		v = string(a.raw)
	}
	out, err := json.MarshalIndent(v, "", " ")
	if err != nil {
		return err.Error()
	}
	kind, _, _ := strings.Cut(a.header.Get("Content-Type"), ";")
	return fmt.Sprintf("%d %s %s", a.status, kind, out)
}

func (p *peer) normalValue(key string, v any, loose bool) any {
	switch v := v.(type) {
	case object:
		if random[key] {
			return "an object"
		}
		out := object{}
		for k, e := range v {
			switch {
			case key == "commit" && k == "cid":
				out[k] = "a CID"
			case loose && k == "message":
				out[k] = "a message"
			case k == "blobUploadLimit":
			default:
				out[k] = p.normalValue(k, e, loose)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = p.normalValue(key, v[i], loose)
		}
		return out
	case string:
		if random[key] {
			return "a string"
		}
		return p.mask(v)
	default:
		return v
	}
}

// mask replaces what is this peer's own by names.
func (p *peer) mask(s string) string {
	names := make([]string, 0, len(p.vars))
	for name := range p.vars {
		names = append(names, name)
	}
	// The longest value first: one may hold another.
	sort.Slice(names, func(i, j int) bool {
		a, b := p.vars[names[i]], p.vars[names[j]]
		return len(a) > len(b) || len(a) == len(b) && names[i] < names[j]
	})
	for _, name := range names {
		if value := p.vars[name]; len(value) > 8 {
			s = strings.ReplaceAll(s, value, "{"+name+"}")
		}
	}
	return ownState.ReplaceAllString(s, "$1(own)$2")
}

// ownState matches, in texts, what differs from run to run: a commit's CID, the
// time in a cursor of listRepos.
var ownState = regexp.MustCompile(`^(Commit was at )\w+$|^\d{13}(::.*)$`)

// carBlocks is what is in a CAR, but for the commit: the other blocks depend only
// on the records.
func carBlocks(raw []byte) any {
	r, err := car.NewCarReader(bytes.NewReader(raw))
	if err != nil {
		return err.Error()
	}
	var out []string
	for {
		b, err := r.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return err.Error()
		}
		if b.Cid().Equals(r.Header.Roots[0]) {
			out = append(out, "the commit")
		} else {
			out = append(out, b.Cid().String())
		}
	}
	sort.Strings(out)
	return out
}
