package repostore

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/apitesting"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// widget is the kind of the protocol tests: small, and with everything that the
// storage has rules for.
type widget struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              widgetSpec   `json:"spec"`
	Status            widgetStatus `json:"status"`
}

type widgetSpec struct {
	// Text and Items are the declaration.
	Text  string            `json:"text,omitempty"`
	Items map[string]string `json:"items,omitempty"`
	// Secret is private.
	Secret string        `json:"secret,omitempty"`
	Record widgetBinding `json:"record"`
}

type widgetBinding struct {
	Repo   string `json:"repo,omitempty"`
	URI    string `json:"uri,omitempty"`
	Retain bool   `json:"retain,omitempty"`
}

type widgetStatus struct {
	// Phase is published.
	Phase      string             `json:"phase,omitempty"`
	Record     *RecordStatus      `json:"record,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

type widgetList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata"`
	Items           []widget `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (w *widget) DeepCopyObject() runtime.Object { return w.copy() }

func (w *widget) copy() *widget {
	c := *w
	w.ObjectMeta.DeepCopyInto(&c.ObjectMeta)
	c.Spec.Items = maps.Clone(w.Spec.Items)
	c.Status.Conditions = slices.Clone(w.Status.Conditions)
	if w.Status.Record != nil {
		rs := *w.Status.Record
		c.Status.Record = &rs
	}
	return &c
}

// DeepCopyObject implements runtime.Object.
func (l *widgetList) DeepCopyObject() runtime.Object {
	c := *l
	c.Items = nil
	for i := range l.Items {
		c.Items = append(c.Items, *l.Items[i].copy())
	}
	return &c
}

var (
	widgetVersion  = schema.GroupVersion{Group: "test.socialweb.computer", Version: "v1"}
	widgetResource = schema.GroupResource{Group: widgetVersion.Group, Resource: "widgets"}
	widgetScheme   = newWidgetScheme()
	widgetCodec    = apitesting.TestCodec(serializer.NewCodecFactory(widgetScheme), widgetVersion)
)

// newWidgetScheme knows one Go type for the stored and the internal version.
func newWidgetScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	internal := schema.GroupVersion{Group: widgetVersion.Group, Version: runtime.APIVersionInternal}
	for _, gv := range []schema.GroupVersion{widgetVersion, internal} {
		s.AddKnownTypeWithName(gv.WithKind("Widget"), &widget{})
		s.AddKnownTypeWithName(gv.WithKind("WidgetList"), &widgetList{})
	}
	metav1.AddToGroupVersion(s, widgetVersion)
	return s
}

func newWidget() runtime.Object     { return &widget{} }
func newWidgetList() runtime.Object { return &widgetList{} }
