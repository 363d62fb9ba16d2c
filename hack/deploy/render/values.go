package render

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"sigs.k8s.io/yaml"

	"socialweb.computer/infra-apiserver/hack/deploy/manifests"
)

// defaults of all values, by name: what the objects hold, else what the value says.
func defaults(docs []document) map[string]any {
	out := map[string]any{}
	for _, v := range manifests.Values() {
		out[v.Name] = v.Default
	}
	var walk func(any)
	walk = func(node any) {
		switch n := node.(type) {
		case hole:
			if n.fill != nil {
				out[n.value.Name] = n.fill
			}
		case guarded:
			walk(n.node)
		case map[string]any:
			for _, child := range n {
				walk(child)
			}
		case []any:
			for _, child := range n {
				walk(child)
			}
		}
	}
	for _, d := range docs {
		walk(d.tree)
	}
	return out
}

// valuesFile is values.yaml: the defaults with their comments, in the order in
// which package manifests lists them.
func valuesFile(docs []document) ([]byte, error) {
	var b bytes.Buffer
	b.WriteString(generated)
	defs, group := defaults(docs), ""
	for _, v := range manifests.Values() {
		prefix, key, nested := strings.Cut(v.Name, ".")
		indent := ""
		if !nested {
			key = prefix
		} else {
			indent = "  "
			if prefix != group {
				fmt.Fprintf(&b, "%s:\n", prefix)
			}
		}
		group = prefix
		text, err := yaml.Marshal(map[string]any{key: defs[v.Name]})
		if err != nil {
			return nil, fmt.Errorf("values.yaml: %s: %w", v.Name, err)
		}
		b.WriteString(indentLines(string(comment(v.Doc))+string(text), indent))
	}
	return b.Bytes(), nil
}

func indentLines(text, indent string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(indent + line)
	}
	return b.String()
}

// schemaFile is values.schema.json: a value that the chart doesn't know, or of
// another type, is refused.
func schemaFile(docs []document) ([]byte, error) {
	root := closedObject()
	// Helm gives every chart the values of its parents.
	root["properties"].(map[string]any)["global"] = map[string]any{"type": "object"}
	defs := defaults(docs)
	for _, v := range manifests.Values() {
		at, key := root, v.Name
		if prefix, rest, nested := strings.Cut(v.Name, "."); nested {
			groups := root["properties"].(map[string]any)
			if groups[prefix] == nil {
				groups[prefix] = closedObject()
			}
			at, key = groups[prefix].(map[string]any), rest
		}
		at["properties"].(map[string]any)[key] = map[string]any{"type": jsonType(defs[v.Name]), "description": v.Doc}
	}
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	b, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("values.schema.json: %w", err)
	}
	return append(b, '\n'), nil
}

func closedObject() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
}

func jsonType(v any) string {
	switch v.(type) {
	case bool:
		return "boolean"
	case float64, int64:
		return "integer"
	case []any:
		return "array"
	case map[string]any:
		return "object"
	}
	return "string"
}
