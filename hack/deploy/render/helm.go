package render

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"socialweb.computer/infra-apiserver/hack/deploy/manifests"
)

// chartFile is Chart.yaml. The chart and what it deploys have one version.
const chartFile = generated + `apiVersion: v2
name: infra-apiserver
description: A Kubernetes API whose objects are records of atproto repositories
type: application
version: %[1]s
appVersion: %[1]s
kubeVersion: ">=1.31.0-0"
`

// Version of the chart.
const Version = "0.1.0"

// Chart writes the Helm chart, as files by their path.
func Chart() (map[string][]byte, error) {
	docs, err := documents()
	if err != nil {
		return nil, err
	}
	out := map[string][]byte{"Chart.yaml": fmt.Appendf(nil, chartFile, Version)}
	if out["values.yaml"], err = valuesFile(docs); err != nil {
		return nil, err
	}
	if out["values.schema.json"], err = schemaFile(docs); err != nil {
		return nil, err
	}
	for _, d := range docs {
		if d.KustomizeOnly {
			continue
		}
		text, err := template(d)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", d.id(), err)
		}
		at := "templates/" + d.File
		if out[at] == nil {
			out[at] = []byte(generated)
		}
		out[at] = append(out[at], text...)
	}
	return out, nil
}

// template is the text of one object.
func template(d document) ([]byte, error) {
	w := &writer{}
	if d.When.Helm != "" {
		w.line(0, "{{- if %s }}", d.When.Helm)
	}
	w.line(0, "---")
	w.Write(comment(d.Doc))
	w.entries(d.tree, 0)
	if d.When.Helm != "" {
		w.line(0, "{{- end }}")
	}
	return w.Bytes(), w.err
}

// writer writes trees as YAML with template actions.
type writer struct {
	bytes.Buffer
	err error
}

func (w *writer) line(indent int, format string, args ...any) {
	fmt.Fprintf(w, "%*s%s\n", indent, "", fmt.Sprintf(format, args...))
}

// entries writes what a map holds.
func (w *writer) entries(m map[string]any, indent int) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		switch n := m[key].(type) {
		case guarded:
			w.line(0, "{{- if %s }}", n.when.Helm)
			w.entry(key, n.node, indent)
			w.line(0, "{{- end }}")
		case hole:
			w.hole(key, n, indent)
		default:
			w.entry(key, n, indent)
		}
	}
}

func (w *writer) entry(key string, node any, indent int) {
	switch n := node.(type) {
	case map[string]any:
		if len(n) > 0 {
			w.line(indent, "%s:", key)
			w.entries(n, indent+2)
			return
		}
	case []any:
		if len(n) > 0 {
			w.line(indent, "%s:", key)
			w.items(n, indent)
			return
		}
	}
	w.line(indent, "%s: %s", key, w.scalar(node))
}

// hole writes a value of the chart under its key.
func (w *writer) hole(key string, h hole, indent int) {
	if h.value.Form != manifests.Block {
		w.line(indent, "%s: %s", key, action(h))
		return
	}
	w.line(0, "{{- with .Values.%s }}", h.value.Name)
	if _, isText := h.value.Default.(string); isText {
		w.line(indent, "%s: {{ . | quote }}", key)
	} else {
		w.line(indent, "%s:", key)
		w.line(indent, "  {{- toYaml . | nindent %d }}", indent+2)
	}
	w.line(0, "{{- end }}")
}

// action writes a scalar's value.
func action(h hole) string {
	if _, isText := h.fill.(string); isText {
		return fmt.Sprintf("{{ .Values.%s | quote }}", h.value.Name)
	}
	return fmt.Sprintf("{{ .Values.%s }}", h.value.Name)
}

// items writes what a list holds.
func (w *writer) items(list []any, indent int) {
	open := ""
	for _, item := range list {
		condition := ""
		if g, ok := item.(guarded); ok {
			condition, item = g.when.Helm, g.node
		}
		open = w.guard(open, condition)
		switch n := item.(type) {
		case hole:
			if n.value.Form != manifests.Splice {
				w.line(indent, "- %s", action(n))
				continue
			}
			w.line(0, "{{- with .Values.%s }}", n.value.Name)
			w.line(indent, "{{- toYaml . | nindent %d }}", indent)
			w.line(0, "{{- end }}")
		default:
			w.item(n, indent)
		}
	}
	w.guard(open, "")
}

// guard ends one condition and begins the next; neighbors share one.
func (w *writer) guard(open, next string) string {
	if open != next && open != "" {
		w.line(0, "{{- end }}")
	}
	if open != next && next != "" {
		w.line(0, "{{- if %s }}", next)
	}
	return next
}

func (w *writer) item(node any, indent int) {
	m, isMap := node.(map[string]any)
	if !isMap || len(m) == 0 {
		w.line(indent, "- %s", w.scalar(node))
		return
	}
	var inner writer
	inner.entries(m, indent+2)
	text := inner.Bytes()
	if len(text) <= indent || text[indent] != ' ' {
		w.err = fmt.Errorf("an item begins with an action: %s", text)
		return
	}
	text[indent] = '-'
	w.Write(text)
}

// scalar writes a leaf. Names that the release or a value decides become actions.
func (w *writer) scalar(node any) string {
	b, err := yaml.Marshal(node)
	if err != nil {
		w.err = err
	}
	text := strings.TrimSuffix(string(b), "\n")
	s, isText := node.(string)
	if !isText {
		return text
	}
	if strings.Contains(s, "{{") {
		w.err = fmt.Errorf("%q would be an action", s)
	}
	if replaced := texts().Replace(s); replaced != s {
		return `"` + replaced + `"`
	}
	return text
}

// texts puts actions in place of names.
func texts() *strings.Replacer {
	pairs := []string{manifests.Namespace, "{{ .Release.Namespace }}"}
	for _, v := range manifests.Values() {
		switch {
		case v.Replaces == "":
		case v.Required != "":
			pairs = append(pairs, v.Replaces, fmt.Sprintf("{{ required %#q .Values.%s }}", v.Required, v.Name))
		default:
			pairs = append(pairs, v.Replaces, fmt.Sprintf("{{ .Values.%s }}", v.Name))
		}
	}
	return strings.NewReplacer(pairs...)
}
