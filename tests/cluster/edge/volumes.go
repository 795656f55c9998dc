package edge

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// decideVolumes grows volumes to what their claims ask for, in the order of the resizers of real
// storage: first the volume and then, once that is seen, the status of the claim. A directory has
// no size, so there is nothing else to do. The API server has refused claims whose class forbids it.
func (d *decision) decideVolumes(v view) {
	for _, seen := range v.claims {
		asked := seen.Spec.Resources.Requests[corev1.ResourceStorage]
		if seen.Status.Phase != corev1.ClaimBound || seen.Annotations[pendingAnnotation] == "true" {
			continue
		}
		if now := seen.Status.Capacity[corev1.ResourceStorage]; asked.Cmp(now) <= 0 {
			continue
		}
		if volume := v.volume(seen.Spec.VolumeName); volume != nil {
			d.growVolume(volume, seen)
		}
	}
}

func (d *decision) growVolume(seen *corev1.PersistentVolume, claimed *corev1.PersistentVolumeClaim) {
	asked := claimed.Spec.Resources.Requests[corev1.ResourceStorage]
	if now := seen.Spec.Capacity[corev1.ResourceStorage]; asked.Cmp(now) > 0 {
		volume := seen.DeepCopy()
		volume.Spec.Capacity[corev1.ResourceStorage] = asked
		d.volumes = append(d.volumes, volume)
		d.report(seen.Spec, volume.Spec, func(ctx context.Context, e *edge) error {
			_, err := e.core.CoreV1().PersistentVolumes().Update(ctx, volume, metav1.UpdateOptions{})
			return err
		})
		return
	}
	claim := claimed.DeepCopy()
	claim.Status.Capacity[corev1.ResourceStorage] = asked
	d.claims = append(d.claims, claim)
	d.report(claimed.Status, claim.Status, func(ctx context.Context, e *edge) error {
		_, err := e.core.CoreV1().PersistentVolumeClaims(claim.Namespace).UpdateStatus(ctx, claim, metav1.UpdateOptions{})
		return err
	})
}

func (v view) volume(name string) *corev1.PersistentVolume {
	for _, volume := range v.volumes {
		if volume.Name == name {
			return volume
		}
	}
	return nil
}
