package atproto

import "github.com/fxamacker/cbor/v2"

// maxReadDepth is how deep the containers of a record may be nested for us to
// look into it. The decoders below take time and memory that grow with the
// square of the depth: a record of a megabyte of brackets would take them half a
// minute and gigabytes. The data model's own limit is 32.
const maxReadDepth = 64

// shallowCBOR accepts well-formed CBOR of a reasonable depth.
var shallowCBOR = func() cbor.DecMode {
	m, err := cbor.DecOptions{MaxNestedLevels: maxReadDepth, TagsMd: cbor.TagsAllowed}.DecMode()
	if err != nil {
		panic(err) // the options are constants
	}
	return m
}()

// shallowJSON tells whether b nests at most maxReadDepth containers; whether it
// is JSON at all is for the decoder to say.
func shallowJSON(b []byte) bool {
	depth, inString := 0, false
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '{' || c == '[':
			depth++
			if depth > maxReadDepth {
				return false
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return true
}
