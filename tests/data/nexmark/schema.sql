CREATE TABLE person (
    id bigint NOT NULL, name text NOT NULL, email_address text NOT NULL, credit_card text NOT NULL,
    city text NOT NULL, state text NOT NULL, date_time timestamp NOT NULL, extra text NOT NULL,
    PRIMARY KEY (id) NOT ENFORCED
);
CREATE TABLE auction (
    id bigint NOT NULL, item_name text NOT NULL, description text NOT NULL, initial_bid bigint NOT NULL,
    reserve bigint NOT NULL, date_time timestamp NOT NULL, expires timestamp NOT NULL, seller bigint NOT NULL,
    category bigint NOT NULL, extra text NOT NULL,
    PRIMARY KEY (id) NOT ENFORCED
);
CREATE TABLE bid (
    auction bigint NOT NULL, bidder bigint NOT NULL, price bigint NOT NULL, channel text NOT NULL,
    url text NOT NULL, date_time timestamp NOT NULL, extra text NOT NULL
);
