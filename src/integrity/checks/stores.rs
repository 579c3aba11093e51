//! Whiteouts, the key-value store and the log of tool calls: INT-31 to INT-37.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::{Check, Needs};

pub(super) const CHECKS: &[Check] = &[
    Check {
        needs: Needs::Whiteouts,
        sql: WHITEOUTS,
        sentence: "the whiteout of {path} has the parent_path {parent_path}, which is not what follows from it",
        decide: Some(has_another_parent),
        ..Check::new("INT-31", "fs_whiteout", &["path"])
    },
    Check {
        sql: SAME_KEY,
        sentence: "the key {key} is there {rows} times",
        ..Check::new("INT-32", "kv_store", &["key"])
    },
    Check {
        sql: KEY_NOT_ASCII,
        sentence: "the key {key} is no text in UTF-8 without NUL",
        decide: Some(|row| Ok(!is_text(row.get_ref("key")?))),
        ..Check::new("INT-32", "kv_store", &["key"])
    },
    Check {
        sql: VALUE_NOT_ASCII,
        sentence: "the value of the key {key} is not JSON",
        decide: Some(|row| Ok(!row.get::<_, bool>("valid")? || !is_text(row.get_ref("value")?))),
        ..Check::new("INT-33", "kv_store", &["key"])
    },
    Check {
        sql: KEY_TIMES,
        sentence: "the key {key} has {why}, where a whole number of seconds is demanded",
        ..Check::new("INT-34", "kv_store", &["key"])
    },
    Check {
        sql: RESULT_AND_ERROR,
        needs: Needs::CompletedCalls,
        sentence: "the call {id} of {name} has {why}",
        ..Check::new("INT-35", "tool_calls", &["id"])
    },
    Check {
        needs: Needs::CompletedCalls,
        sql: CALL_TIMES,
        sentence: "the call {id} of {name} has {why}",
        ..Check::new("INT-36", "tool_calls", &["id"])
    },
    Check {
        sql: PAYLOAD_NOT_ASCII,
        sentence: "the call {id} of {name} has {why}",
        decide: Some(|row| Ok(!row.get::<_, bool>("valid")? || !is_text(row.get_ref("payload")?))),
        ..Check::new("INT-37", "tool_calls", &["id"])
    },
];

const WHITEOUTS: &str = "SELECT path, parent_path FROM fs_whiteout";

// One scan of the keys, or of the whole table. To GLOB and to json_valid a text ends at a NUL.
const SAME_KEY: &str = "SELECT key, count(*) AS rows FROM kv_store GROUP BY key HAVING count(*) > 1";
const KEY_NOT_ASCII: &str = "SELECT key FROM kv_store
  WHERE typeof(key) <> 'text' OR key GLOB '*[^ -~]*' OR instr(CAST(key AS BLOB), x'00') > 0";
const VALUE_NOT_ASCII: &str = "SELECT key, value, coalesce(json_valid(value), 0) AS valid FROM kv_store
  WHERE NOT valid OR typeof(value) <> 'text' OR value GLOB '*[^ -~]*' OR instr(CAST(value AS BLOB), x'00') > 0";
const KEY_TIMES: &str = "SELECT key, why FROM (SELECT key, CASE
      WHEN typeof(created_at) <> 'integer' THEN 'created_at ' || quote(created_at)
      WHEN typeof(updated_at) <> 'integer' THEN 'updated_at ' || quote(updated_at)
    END AS why FROM kv_store) WHERE why IS NOT NULL";

// One scan of the calls each. A call is pending that has neither a time of completion nor an outcome: programs that
// record a call when it begins leave it so. Such programs also store empty texts for what is absent.
const RESULT_AND_ERROR: &str = "SELECT id, name,
    CASE WHEN result = '' OR error = '' THEN 'note' ELSE 'error' END AS severity,
    CASE WHEN result IS NULL THEN 'neither a result nor an error'
      WHEN result = '' OR error = '' THEN 'a result and an error, one of them empty'
      ELSE 'both a result and an error' END AS why
  FROM tool_calls WHERE (result IS NULL) = (error IS NULL)
    AND NOT (completed_at IS NULL AND coalesce(result, '') = '' AND coalesce(error, '') = '')";
const CALL_TIMES: &str = "SELECT id, name, why,
    CASE WHEN why = 'not ended yet' THEN 'pending' ELSE 'error' END AS severity
  FROM (SELECT id, name, CASE
      WHEN typeof(started_at) <> 'integer' THEN 'started_at ' || quote(started_at) || ', which is no second'
      WHEN completed_at IS NULL AND coalesce(result, '') = '' AND coalesce(error, '') = '' THEN 'not ended yet'
      WHEN typeof(completed_at) <> 'integer' THEN 'completed_at ' || quote(completed_at) || ', which is no second'
      WHEN duration_ms IS NULL OR duration_ms <> (completed_at - started_at) * 1000
        THEN 'duration_ms ' || quote(duration_ms) || ', where (completed_at - started_at) * 1000 is '
          || ((completed_at - started_at) * 1000)
    END AS why FROM tool_calls) WHERE why IS NOT NULL";
const PAYLOAD_NOT_ASCII: &str = "SELECT id, name, payload, valid,
    CASE payload WHEN '' THEN 'an empty text for ' || what ELSE what || ' that are not JSON' END AS why,
    CASE payload WHEN '' THEN 'note' ELSE 'error' END AS severity
  FROM (SELECT id, name, 'parameters' AS what, parameters AS payload, json_valid(parameters) AS valid FROM tool_calls
        UNION ALL SELECT id, name, 'results', result, json_valid(result) FROM tool_calls)
  WHERE NOT valid OR typeof(payload) NOT IN ('text', 'null') OR payload GLOB '*[^ -~]*'
    OR instr(CAST(payload AS BLOB), x'00') > 0";

/// Whether a value is text as SQL functions and shells can keep it: UTF-8 without NUL.
fn is_text(value: ValueRef<'_>) -> bool {
    matches!(value, ValueRef::Text(bytes) if std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0))
}

/// Whether a whiteout names another parent than its path says, or a path that none can have.
fn has_another_parent(row: &Row<'_>) -> rusqlite::Result<bool> {
    let (ValueRef::Text(path), ValueRef::Text(parent)) = (row.get_ref("path")?, row.get_ref("parent_path")?)
    else {
        return Ok(true);
    };
    Ok(parent_of(path) != Some(parent))
}

/// The directory above an absolute path without repeated slashes, "." and ".."; above the root it is the root.
fn parent_of(path: &[u8]) -> Option<&[u8]> {
    if path == b"/" {
        return Some(path);
    }
    let components = path.strip_prefix(b"/")?;
    let mut last = components;
    for component in components.split(|&byte| byte == b'/') {
        if matches!(component, b"" | b"." | b"..") {
            return None;
        }
        last = component;
    }
    let parent = &path[..path.len() - last.len() - 1];
    Some(if parent.is_empty() { b"/" } else { parent })
}

#[cfg(test)]
mod tests {
    use super::*;

    // spec: INT-31
    #[test]
    fn the_directory_above_a_path() {
        let cases: [(&str, Option<&str>); 12] = [
            ("/", Some("/")),
            ("/a", Some("/")),
            ("/a/b", Some("/a")),
            ("/a/b/c.d", Some("/a/b")),
            ("", None),
            ("a", None),
            ("a/b", None),
            ("/a/", None),
            ("//a", None),
            ("/a//b", None),
            ("/a/./b", None),
            ("/a/..", None),
        ];
        for (path, parent) in cases {
            assert_eq!(parent_of(path.as_bytes()), parent.map(str::as_bytes), "{path:?}");
        }
    }
}
