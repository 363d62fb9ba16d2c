package render

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"socialweb.computer/infra-apiserver/hack/deploy/manifests"
)

// document is an object as a tree.
type document struct {
	manifests.Object
	tree map[string]any
}

// guarded is a node that only some variants have.
type guarded struct {
	when manifests.Condition
	node any
}

// hole is where a value of the chart stands. fill is what the kustomization has
// there; nil: nothing.
type hole struct {
	value manifests.Value
	fill  any
}

// documents makes the trees of all objects.
func documents() ([]document, error) {
	objects := manifests.Objects()
	docs := make([]document, len(objects))
	for i, o := range objects {
		tree, err := toTree(o.Typed)
		if err != nil {
			return nil, err
		}
		docs[i] = document{o, tree}
	}
	for _, v := range manifests.Values() {
		for _, p := range v.At {
			if err := dig(docs, v, p); err != nil {
				return nil, fmt.Errorf("value %s in %s %s: %w", v.Name, p.Kind, p.Name, err)
			}
		}
	}
	for _, d := range docs {
		for _, item := range d.Items {
			set := func(node any, found bool) (any, error) {
				if !found {
					return nil, errors.New("nothing there")
				}
				return guarded{item.When, node}, nil
			}
			if err := replace(d.tree, item.Path, set); err != nil {
				return nil, fmt.Errorf("%s: condition at %v: %w", d.id(), item.Path, err)
			}
		}
	}
	return docs, nil
}

// dig makes the hole of a value at a place.
func dig(docs []document, v manifests.Value, p manifests.Place) error {
	i := slices.IndexFunc(docs, func(d document) bool { return d.tree["kind"] == p.Kind && d.name() == p.Name })
	if i < 0 {
		return errors.New("no such object")
	}
	return replace(docs[i].tree, p.Path, func(node any, found bool) (any, error) {
		switch {
		case v.Form == manifests.Splice:
			list, _ := node.([]any)
			return append(list, hole{v, nil}), nil
		case !found && v.Form != manifests.Block:
			return nil, errors.New("nothing there")
		}
		return hole{v, node}, nil
	})
}

func (d document) name() string {
	meta, _ := d.tree["metadata"].(map[string]any)
	name, _ := meta["name"].(string)
	return name
}

func (d document) id() string { return fmt.Sprintf("%s %s", d.tree["kind"], d.name()) }

// toTree is an object as JSON has it, without what the API server fills in.
func toTree(obj any) (map[string]any, error) {
	b, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	var tree map[string]any
	if err := json.Unmarshal(b, &tree); err != nil {
		return nil, fmt.Errorf("object: %w", err)
	}
	prune(tree)
	return tree, nil
}

// prune removes what typed objects say though nobody set it.
func prune(node any) {
	switch n := node.(type) {
	case map[string]any:
		for k, v := range n {
			m, isMap := v.(map[string]any)
			if empty := isMap && len(m) == 0; v == nil || k == "status" || empty && (k == "resources" || strings.HasSuffix(strings.ToLower(k), "strategy")) {
				delete(n, k)
				continue
			}
			prune(v)
		}
	case []any:
		for _, v := range n {
			prune(v)
		}
	}
}

// replace exchanges the node at a path of a tree. set is told whether there is one.
func replace(node any, path []string, set func(node any, found bool) (any, error)) error {
	last := len(path) == 1
	switch n := node.(type) {
	case map[string]any:
		child, found := n[path[0]]
		if !last {
			if !found {
				return fmt.Errorf("no %s", path[0])
			}
			// A list may have to grow: its parent holds it.
			return replace(child, path[1:], set)
		}
		made, err := set(child, found)
		n[path[0]] = made
		return err
	case []any:
		i, err := index(n, path[0])
		if err != nil {
			return err
		}
		if !last {
			return replace(n[i], path[1:], set)
		}
		made, err := set(n[i], true)
		n[i] = made
		return err
	case guarded:
		return replace(n.node, path, set)
	}
	return fmt.Errorf("nothing can be at %s", path[0])
}

// index of a list's item: by its number, or as "[x]" by its name or how it begins.
func index(list []any, selector string) (int, error) {
	want, isName := strings.CutPrefix(strings.TrimSuffix(selector, "]"), "[")
	if !isName {
		i, err := strconv.Atoi(selector)
		if err != nil || i >= len(list) {
			return 0, fmt.Errorf("no item %s", selector)
		}
		return i, nil
	}
	for i, item := range list {
		if g, ok := item.(guarded); ok {
			item = g.node
		}
		switch it := item.(type) {
		case string:
			if strings.HasPrefix(it, want) {
				return i, nil
			}
		case map[string]any:
			meta, _ := it["metadata"].(map[string]any)
			if it["name"] == want || meta["name"] == want {
				return i, nil
			}
		}
	}
	return 0, fmt.Errorf("no item %s", selector)
}
