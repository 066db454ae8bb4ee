package fleet

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// own gives the metadata of our own Node.
func (f *Fleet) own(ctx context.Context) (*metav1.PartialObjectMetadata, error) {
	m := &metav1.PartialObjectMetadata{}
	err := f.Client.Core.Get().Resource("nodes").Name(f.Node).
		SetHeader("Accept", fmt.Sprintf(metadataOnly, "PartialObjectMetadata")).Do(ctx).Into(m)
	if err != nil {
		return nil, failed("get node "+f.Node, err)
	}
	return m, nil
}

// list gives the metadata of all Nodes that a selector fits, as the API server
// holds them in this moment, page by page.
func (f *Fleet) list(ctx context.Context, selector string) (all []metav1.PartialObjectMetadata, err error) {
	for next := ""; ; {
		part := &metav1.PartialObjectMetadataList{}
		err := f.Client.Core.Get().Resource("nodes").Param("labelSelector", selector).Param("limit", page).Param("continue", next).
			SetHeader("Accept", fmt.Sprintf(metadataOnly, "PartialObjectMetadataList")).Do(ctx).Into(part)
		if err != nil {
			return nil, failed("list nodes with "+selector, err)
		}
		all = append(all, part.Items...)
		if next = part.Continue; next == "" {
			return all, nil
		}
	}
}
