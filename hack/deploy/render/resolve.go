package render

import "socialweb.computer/infra-apiserver/hack/deploy/manifests"

// resolve is a node of one variant, with the defaults; false: the variant doesn't
// have it. A list that has lost all its items isn't there.
func resolve(node any, v manifests.Variant) (any, bool) {
	switch n := node.(type) {
	case guarded:
		if !n.when.In(v) {
			return nil, false
		}
		return resolve(n.node, v)
	case hole:
		return n.fill, n.fill != nil
	case map[string]any:
		out := make(map[string]any, len(n))
		for k, child := range n {
			if r, ok := resolve(child, v); ok {
				out[k] = r
			}
		}
		return out, true
	case []any:
		out := make([]any, 0, len(n))
		for _, child := range n {
			if r, ok := resolve(child, v); ok {
				out = append(out, r)
			}
		}
		return out, len(out) > 0
	}
	return node, true
}

// inVariant are the objects of a variant, as trees without guards and holes.
func inVariant(docs []document, v manifests.Variant) []document {
	var out []document
	for _, d := range docs {
		if !d.When.In(v) {
			continue
		}
		if tree, ok := resolve(d.tree, v); ok {
			d.tree = tree.(map[string]any)
			out = append(out, d)
		}
	}
	return out
}

// Variant are the objects of a variant as plain trees, in the order in which they
// are written.
func Variant(v manifests.Variant) ([]map[string]any, error) {
	docs, err := documents()
	if err != nil {
		return nil, err
	}
	var out []map[string]any
	for _, d := range inVariant(docs, v) {
		out = append(out, d.tree)
	}
	return out, nil
}
