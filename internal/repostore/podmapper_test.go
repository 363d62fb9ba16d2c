package repostore

import (
	"encoding/json"
	"fmt"

	"github.com/bluesky-social/indigo/atproto/atdata"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/apis/example"
	examplev1 "k8s.io/apiserver/pkg/apis/example/v1"
)

var (
	podScheme = runtime.NewScheme()
	podCodecs = serializer.NewCodecFactory(podScheme)
)

func init() {
	metav1.AddToGroupVersion(podScheme, metav1.SchemeGroupVersion)
	utilruntime.Must(example.AddToScheme(podScheme))
	utilruntime.Must(examplev1.AddToScheme(podScheme))
}

func newPod() runtime.Object     { return &example.Pod{} }
func newPodList() runtime.Object { return &example.PodList{} }

// podCollection is the collection of the records that are Pods.
const podCollection = "computer.socialweb.examplePod"

// podMapper makes the example Pods of the upstream storage suite record-backed:
// the spec is the declaration, all else is private. The namespace is the
// workspace, and names the repository: the suite compares whole objects, so there
// is no other place for the binding. A Pod without a namespace has no record.
type podMapper struct{}

var _ RecordMapper = podMapper{}

func (podMapper) Collection() string  { return podCollection }
func (podMapper) New() runtime.Object { return newPod() }

func (podMapper) Declaration(obj runtime.Object) (map[string]any, error) {
	v1 := &examplev1.Pod{}
	if err := podScheme.Convert(obj, v1, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	b, err := json.Marshal(map[string]any{"spec": v1.Spec})
	if err != nil {
		return nil, fmt.Errorf("encode pod: %w", err)
	}
	return atdata.UnmarshalJSON(b)
}

func (m podMapper) Encode(obj runtime.Object, remainder map[string]any) (map[string]any, error) {
	record, err := m.Declaration(obj)
	if err != nil {
		return nil, err
	}
	record["$type"] = podCollection
	for k, v := range remainder {
		if _, ours := record[k]; !ours {
			record[k] = v
		}
	}
	return record, nil
}

func (podMapper) Decode(record map[string]any, obj runtime.Object) (map[string]any, error) {
	if record["$type"] != podCollection {
		return nil, &InvalidRecordError{Field: "$type", Reason: fmt.Sprintf("want %q", podCollection)}
	}
	b, err := json.Marshal(record)
	if err != nil {
		return nil, fmt.Errorf("encode record: %w", err)
	}
	v1, pod := &examplev1.Pod{}, &example.Pod{}
	if err := json.Unmarshal(b, v1); err != nil {
		return nil, &InvalidRecordError{Field: "spec", Reason: err.Error()}
	}
	if err := podScheme.Convert(v1, pod, nil); err != nil {
		return nil, fmt.Errorf("convert pod: %w", err)
	}
	remainder := map[string]any{}
	for k, v := range record {
		if k != "$type" && k != "spec" {
			remainder[k] = v
		}
	}
	obj.(*example.Pod).Spec = pod.Spec
	return remainder, nil
}

func (podMapper) FirstSight(runtime.Object, Sight) {}

func (podMapper) Binding(obj runtime.Object) Binding {
	return Binding{RepoName: obj.(*example.Pod).Namespace}
}

func (podMapper) SetBinding(obj runtime.Object, b Binding) {
	obj.(*example.Pod).Namespace = b.RepoName
}

func (podMapper) RecordStatus(runtime.Object) *RecordStatus     { return nil }
func (podMapper) SetRecordStatus(runtime.Object, *RecordStatus) {}
func (podMapper) Conditions(runtime.Object) *[]metav1.Condition { return nil }
func (podMapper) ManagesGeneration() bool                       { return false }
