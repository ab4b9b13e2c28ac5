"""Where trials are taken: live boards, records, images on a rig, the other side's programs."""
