-- The examples of the bulk export pages; a placeholder in angle brackets outside a string became a name.
CREATE CONNECTION aws_connection
   TO AWS (ASSUME ROLE ARN = 'arn:aws:iam::<account-id>:role/<role>');

CREATE CONNECTION aws_connection TO AWS (
    ASSUME ROLE ARN = '<IAM role ARN>',
    REGION = '<region>'
);

CREATE CONNECTION bucket_connection TO AWS (
    ACCESS KEY ID = '<ACCESS_KEY_ID>',
    SECRET ACCESS KEY = SECRET secret_access_key,
    ENDPOINT = 'https://storage.googleapis.com',
    REGION = 'us'
);

SELECT awsc.id, external_id
 FROM mz_internal.mz_aws_connections awsc
 JOIN mz_connections c ON awsc.id = c.id
 WHERE c.name = 'aws_connection';

VALIDATE CONNECTION aws_connection;

COPY some_object TO 's3://<bucket>/<path>'
WITH (
    AWS CONNECTION = aws_connection,
    FORMAT = 'parquet'
  );

CREATE SECRET secret_access_key AS '<SECRET_ACCESS_KEY>';

COPY some_object TO '<S3_BUCKET_URI>'
WITH (
    AWS CONNECTION = bucket_connection,
    FORMAT = 'csv'
  );

SELECT
    messages_staged,
    messages_committed,
    bytes_staged,
    bytes_committed
FROM mz_internal.mz_sink_statistics
WHERE id = 'SINK ID';

CREATE CONNECTION iceberg_catalog_connection TO ICEBERG CATALOG (
    CATALOG TYPE = 's3tablesrest',
    URL = 'https://s3tables.<region>.amazonaws.com/iceberg',
    WAREHOUSE = '<S3 table bucket ARN>',
    AWS CONNECTION = aws_connection
);

CREATE SINK sink_name
  IN CLUSTER sink_cluster
  FROM my_materialize_object
  INTO ICEBERG CATALOG CONNECTION iceberg_catalog_connection (
    NAMESPACE = '<my_s3_table_bucket_namespace>',
    TABLE = '<my_iceberg_table>'
  )
  USING AWS CONNECTION aws_connection
  KEY (key)
  MODE UPSERT
  WITH (COMMIT INTERVAL = '60s');
