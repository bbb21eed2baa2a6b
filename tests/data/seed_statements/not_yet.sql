-- Examples of types that we refuse by name for now.
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
  WITH (COMMIT INTERVAL = '<commit_interval>');
