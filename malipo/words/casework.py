"""Refusals about who looks after a case or an exception, and about the files of it. Pure."""

SENTENCES = {
    "assignment_no_manager": "{name} is no operator who may decide anything.",
    "assignment_over": "That day is over.",
    "attachment_kind": "Only PDF, PNG, JPEG, XLSX, CSV and TXT are taken, and the name must end as the file is.",
    "attachment_too_large": "A file may have at most {most} MB.",
    "attachment_empty": "Choose a file that is not empty.",
    "attachment_too_many": "There are {most} files already, which is the most.",
}
