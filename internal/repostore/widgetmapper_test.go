package repostore

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// widgetCollection is the collection of the records that are widgets.
const widgetCollection = "computer.socialweb.testWidget"

// widgetMapper makes widgets record-backed.
type widgetMapper struct {
	// finalizer that objects get at first sight, "": none.
	finalizer string
}

var _ RecordMapper = widgetMapper{}

func (widgetMapper) Collection() string  { return widgetCollection }
func (widgetMapper) New() runtime.Object { return &widget{} }

func (widgetMapper) Declaration(obj runtime.Object) (map[string]any, error) {
	w := obj.(*widget)
	d := map[string]any{"text": w.Spec.Text}
	if len(w.Spec.Items) > 0 {
		items := map[string]any{}
		for k, v := range w.Spec.Items {
			items[k] = v
		}
		d["items"] = items
	}
	return d, nil
}

func (m widgetMapper) Encode(obj runtime.Object, remainder map[string]any) (map[string]any, error) {
	record, err := m.Declaration(obj)
	if err != nil {
		return nil, err
	}
	record["$type"] = widgetCollection
	for k, v := range remainder {
		if _, ours := record[k]; !ours && k != "items" {
			record[k] = v
		}
	}
	if phase := obj.(*widget).Status.Phase; phase != "" {
		record["status"] = map[string]any{"phase": phase}
	}
	return record, nil
}

func (widgetMapper) Decode(record map[string]any, obj runtime.Object) (map[string]any, error) {
	if record["$type"] != widgetCollection {
		return nil, &InvalidRecordError{Field: "$type", Reason: fmt.Sprintf("%v is not %s", record["$type"], widgetCollection)}
	}
	text, ok := record["text"].(string)
	if !ok {
		return nil, &InvalidRecordError{Field: "text", Reason: "must be a string"}
	}
	var items map[string]string
	remainder := map[string]any{}
	for k, v := range record {
		switch k {
		case "$type", "text", "status":
		case "items":
			m, ok := v.(map[string]any)
			if !ok {
				return nil, &InvalidRecordError{Field: "items", Reason: "must be an object"}
			}
			for name, item := range m {
				s, ok := item.(string)
				if !ok {
					return nil, &InvalidRecordError{Field: "items." + name, Reason: "must be a string"}
				}
				if items == nil {
					items = map[string]string{}
				}
				items[name] = s
			}
		default:
			remainder[k] = v
		}
	}
	w := obj.(*widget)
	w.Spec.Text, w.Spec.Items = text, items
	return remainder, nil
}

func (m widgetMapper) FirstSight(obj runtime.Object, s Sight) {
	w := obj.(*widget)
	if m.finalizer != "" && s.Record != nil {
		w.Finalizers = []string{m.finalizer}
	}
	if status, ok := s.Record["status"].(map[string]any); ok && s.Ours {
		w.Status.Phase, _ = status["phase"].(string)
	}
}

func (widgetMapper) Binding(obj runtime.Object) Binding {
	b := obj.(*widget).Spec.Record
	return Binding{RepoName: b.Repo, URI: b.URI, Retain: b.Retain}
}

func (widgetMapper) SetBinding(obj runtime.Object, b Binding) {
	obj.(*widget).Spec.Record = widgetBinding{Repo: b.RepoName, URI: b.URI, Retain: b.Retain}
}

func (widgetMapper) RecordStatus(obj runtime.Object) *RecordStatus {
	rs := obj.(*widget).Status.Record
	if rs == nil {
		return nil
	}
	c := *rs
	return &c
}

func (widgetMapper) SetRecordStatus(obj runtime.Object, rs *RecordStatus) {
	obj.(*widget).Status.Record = rs
}

func (widgetMapper) Conditions(obj runtime.Object) *[]metav1.Condition {
	return &obj.(*widget).Status.Conditions
}

func (widgetMapper) ManagesGeneration() bool { return true }

// widgetRecord is a record as another client writes it.
func widgetRecord(text string, items ...string) map[string]any {
	r := map[string]any{"$type": widgetCollection, "text": text}
	if len(items) > 0 {
		m := map[string]any{}
		for _, name := range items {
			m[name] = "v"
		}
		r["items"] = m
	}
	return r
}
