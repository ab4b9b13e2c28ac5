"""The health of boards: what their kernel logs, disks and sensors say, at a time and over weeks."""
